"""Tests mirror the source: tests/config/test_load.py tests strop/config/load.py."""

from __future__ import annotations

import pytest

from tests.shape.source import ROOT, python_files

ACROSS = ("laws", "golden", "shape", "study_note", "examples")
"""Folders of tests about more than one file."""

TESTS = [path for path in python_files("tests") if path.split("/")[-1].startswith("test_")]


@pytest.mark.parametrize("path", [path for path in TESTS if path.split("/")[1] not in ACROSS])
def test_a_file_of_tests_has_the_source_file_it_tests(path: str) -> None:
    folder, _, name = path.removeprefix("tests/").rpartition("/")
    source = ROOT / "strop" / folder / name.removeprefix("test_").replace("strop.py", "__init__.py")
    assert source.is_file(), f"{path} tests no file"
