"""Tests mirror the source one to one: tests/config/test_load.py tests strop/config/load.py."""

from __future__ import annotations

import pytest

from tests.shape.source import ROOT, python_files

ACROSS = ("benchmarks", "laws", "golden", "shape", "study_note", "examples", "public_reports")
"""Folders of tests about more than one file."""

UNTESTED = {
    "strop/assets/tiny/demonstrations.py": "used once, to make the embedded policy",
    "strop/assets/tiny/make.py": "a program of a quarter of an hour; what it made is tested",
    "strop/rollout/engine_prompts.py": "a part of engine_hf, tested through it",
    "strop/tasks/task.py": "a protocol, without code of its own",
}
"""Source files without a file of tests, and why. This list may only shrink."""

TESTS = [path for path in python_files("tests") if path.split("/")[-1].startswith("test_")]
SOURCES = [path for path in python_files("strop") if not path.endswith("/__init__.py")]


def mirrored(source: str) -> str:
    folder, _, name = source.removeprefix("strop/").rpartition("/")
    return "/".join(part for part in ("tests", folder, f"test_{name}") if part)


@pytest.mark.parametrize("path", [path for path in TESTS if path.split("/")[1] not in ACROSS])
def test_a_file_of_tests_has_the_source_file_it_tests(path: str) -> None:
    folder, _, name = path.removeprefix("tests/").rpartition("/")
    source = ROOT / "strop" / folder / name.removeprefix("test_").replace("strop.py", "__init__.py")
    assert source.is_file(), f"{path} tests no file"


@pytest.mark.parametrize("path", [path for path in SOURCES if path not in UNTESTED])
def test_a_source_file_has_its_file_of_tests(path: str) -> None:
    assert (ROOT / mirrored(path)).is_file(), f"{path} has no {mirrored(path)}"


def test_what_is_untested_is_there_and_still_untested() -> None:
    for path in UNTESTED:
        assert path in SOURCES, f"{path} is gone: take it off the list"
        assert not (ROOT / mirrored(path)).is_file(), f"{path} has tests now: take it off the list"
