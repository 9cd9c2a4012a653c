"""The real model of the slow tests, written once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What examples/real_model/real_model.py writes: about a minute and 540 MB. Nothing may write into it."""
    folder = tmp_path_factory.mktemp("real_model") / "smollm2-135m"
    subprocess.run([sys.executable, ROOT / "examples" / "real_model" / "real_model.py", folder], check=True)
    return folder
