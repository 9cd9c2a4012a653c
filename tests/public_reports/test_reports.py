"""Every public report is held by tests that are there, and every test that names a report is in the table."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.shape.source import functions, python_files

TABLE: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("reports.toml").read_text(encoding="utf-8"))

FIRST_HALF = (1, 2, 4, 5, 7, 9, 10, 12, 13, 14, 15, 17, 18, 20, 23, 24, 25, 26, 28, 29)
SECOND_HALF = (31, 32, 34, 35, 36, 38, 39, 41, 42, 43, 46, 47, 48, 50, 51, 52, 53, 55, 58, 59)
REPORTED = [f"B{number:02}" for number in FIRST_HALF + SECOND_HALF]
LATER = {"resuming a run": "B48 B50 B51 B52"}
"""What is not built, and the reports about it. This list may only shrink."""


def docstrings() -> Iterator[tuple[str, str]]:
    """Every test, as file::name below tests/, and its docstring."""
    for path in python_files("tests"):
        for function in functions(path):
            if function.name.startswith("test_"):
                yield f"{path.removeprefix('tests/')}::{function.name}", ast.get_docstring(function) or ""


DOCSTRINGS = dict(docstrings())


def test_the_table_holds_every_report_once_with_an_address_of_its_own() -> None:
    assert list(TABLE) == REPORTED
    assert len({report["url"] for report in TABLE.values()}) == len(REPORTED)
    for name, report in TABLE.items():
        assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+", report["url"]), name
        assert report.keys() <= {"url", "fault", "tests", "waits"} and report["fault"], name


@pytest.mark.parametrize("name", REPORTED)
def test_a_report_is_held_by_tests_that_are_there_or_waits_for_what_is_not_built(name: str) -> None:
    waiting = {report for reports in LATER.values() for report in reports.split()}
    report = TABLE[name]
    assert ("waits" in report) == (name in waiting)
    assert bool(report.get("tests")) == (name not in waiting)
    assert not set(report.get("tests", ())) - DOCSTRINGS.keys()
    if "waits" in report:
        assert name in LATER[report["waits"]].split()


def test_a_test_that_names_a_report_is_among_its_tests_and_each_report_is_named() -> None:
    cited = [(name, test) for test, text in DOCSTRINGS.items() for name in re.findall(r"\bB\d\d\b", text)]
    for name, test in cited:
        assert test in TABLE[name].get("tests", ()), f"{test} names {name}, which does not know of it"
    assert {name for name, _ in cited} == {name for name, report in TABLE.items() if "tests" in report}


def test_an_address_in_a_test_of_this_folder_is_that_of_the_report_it_names() -> None:
    for test, text in DOCSTRINGS.items():
        if not test.startswith("public_reports/"):
            continue
        urls = re.findall(r"https://github\.com/[\w./-]+\d", text)
        named = [TABLE[name]["url"] for name in re.findall(r"\bB\d\d\b", text)]
        assert set(urls) <= set(named), test
