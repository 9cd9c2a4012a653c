"""strop's functions in a bare PyTorch loop: the shipped example learns, and prints what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_loop.py"


def test_the_example_learns_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    accuracies = [float(value) for value in re.findall(r"accuracy (\d\.\d+)", capsys.readouterr().out)]
    assert accuracies[0] < 0.5
    assert accuracies[-1] > 0.85
