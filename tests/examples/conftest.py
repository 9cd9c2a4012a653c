"""The real model of the slow tests, written once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from strop.cli.init import write


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What real_model.py of the starter writes: about a minute and 540 MB. Nothing may write into it."""
    starter = tmp_path_factory.mktemp("real_model")
    write("real-model", starter)
    subprocess.run([sys.executable, "real_model.py", "smollm2-135m"], cwd=starter, check=True)
    return starter / "smollm2-135m"
