"""Every python snippet of the pages runs, and prints what the page says; docs/rows.md is the table of rows."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from strop.algorithms import KINDS, ROWS, Algorithm

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["study-note.md", "which-mean.md", "rows.md"])
def test_snippets_run_in_order_and_print_what_the_page_says(page: str) -> None:
    blocks = BLOCK.findall((DOCS / page).read_text())
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), names)  # noqa: S102
        promised = re.findall(r"print\(.*\)  # (.*)$", block, re.MULTILINE)
        assert block.count("print(") == len(promised), "a print without the comment that says what it prints"
        assert printed.getvalue().split() == " ".join(promised).split()


def written(choice: Any) -> str:
    """A choice the way the page writes it: its kind, and its numbers but for a bound that is infinite."""
    values = {field.name: getattr(choice, field.name) for field in fields(choice)}
    shown = [f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()]
    kept = [text for text in shown if not text.endswith(" inf")]
    return " ".join([choice.kind, f"({', '.join(kept)})"]) if kept else choice.kind


def line(row: Algorithm) -> str:
    regularizers = ", ".join(map(written, row.regularizers)) or "-"
    choices = [written(choice) for choice in (row.advantage, row.ratio, row.trust, row.aggregation)]
    return f"| `{row.name}` | {' | '.join(choices)} | {regularizers} |"


def details(row: Algorithm) -> str:
    return "\n".join([f"**`{row.name}`** {row.summary}. {row.source}.", *(f"- {text}" for text in row.deviations)])


@pytest.mark.parametrize("name", list(ROWS))
def test_the_page_of_rows_has_each_row_with_its_source_and_deviations(name: str) -> None:
    page = (DOCS / "rows.md").read_text()
    assert line(ROWS[name]) in page
    assert details(ROWS[name]) in page


def test_the_page_of_rows_has_no_row_that_is_not_there() -> None:
    assert re.findall(r"^\| `(\w+)` \| \w+ ", (DOCS / "rows.md").read_text(), re.MULTILINE) == list(ROWS)


def test_the_page_of_rows_names_every_kind_of_every_choice() -> None:
    page = (DOCS / "rows.md").read_text()
    for choice, table in KINDS.items():
        assert f"| {choice} | {', '.join(f'`{kind}`' for kind in table)} |" in page
