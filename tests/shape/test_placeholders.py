"""Nothing is left unfinished: no placeholder in a page or in the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shape.source import ROOT

MARKS = re.compile(r"\b(TODO|FIXME|XXX)\b")
ALONE = re.compile(r"[\s*_`<>{}\[\]|]*[A-Z]{6,}[\s*_`<>{}\[\]|.:]*")
"""A word of capitals that has a line to itself, where a number or a table was to be put in."""

SUFFIXES = {".md", ".py", ".yaml"}
PAGES = [ROOT / "README.md", *(path for folder in ("docs", "strop", "examples") for path in (ROOT / folder).rglob("*"))]


def placeholders(text: str) -> list[str]:
    return [line for line in text.splitlines() if MARKS.search(line) or ALONE.fullmatch(line)]


@pytest.mark.parametrize(
    "path",
    sorted(path for path in PAGES if path.suffix in SUFFIXES and path.is_file()),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_file_holds_no_placeholder(path: Path) -> None:
    assert placeholders(path.read_text(encoding="utf-8")) == []


def test_a_placeholder_is_seen_and_prose_is_not() -> None:
    seen = ["TINYTIME", "  **RESULTS**  ", "| NUMBERS |", "# TODO: write", "it takes XXX seconds"]
    assert placeholders("\n".join(seen)) == seen
    assert placeholders("SCALARS = (\nARXIV 2503\nNAME\nDAPO\nrun RESULTS now\n)") == []
