"""Every python snippet of the pages runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

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
