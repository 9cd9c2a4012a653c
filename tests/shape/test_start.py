"""What must not be imported before it is needed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.shape.source import ROOT

HEAVY = ["torch", "transformers", "numpy", "yaml", "pyarrow", "matplotlib"]


@pytest.mark.parametrize(
    "code",
    [
        "import strop",
        "import strop; strop.__all__; dir(strop)",
        "import strop.cli.main as m; m.run(['--help'])",
        "import strop.cli.main as m; m.run(['train', '--help'])",
    ],
)
def test_the_package_and_its_help_import_nothing_heavy(code: str) -> None:
    program = f"{code}\nimport sys; print('HEAVY', *(name for name in {HEAVY} if name in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY"


def test_the_schema_is_imported_only_where_its_keys_are_shown() -> None:
    code = "import strop.cli.main as m, sys; m.run(['--help']); sys.exit('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("module", ["strop.config", "strop.tasks.task", "strop.watch"])
def test_settings_are_read_without_torch(module: str) -> None:
    program = f"import {module}, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
