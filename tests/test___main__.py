"""`python -m strop` is the command line."""

from __future__ import annotations

import subprocess
import sys


def test_the_module_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "strop", "--help"], capture_output=True, text=True, check=True)
    assert "strop train, without any argument" in done.stdout


def test_its_exit_code_is_the_commands() -> None:
    done = subprocess.run([sys.executable, "-m", "strop", "trian"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("strop: ")
