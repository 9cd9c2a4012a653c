"""Tables and lines on the terminal or in a file: nothing wraps, nothing is cut, and nothing is read as markup."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from strop.cli.safe import visible

if TYPE_CHECKING:
    from rich.console import Console


def make_console() -> Console:
    """The console of stdout. Colours only on a terminal."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def say(console: Console, text: str = "", style: str = "") -> None:
    """Print one line, whatever it holds."""
    from rich.text import Text

    console.print(Text(visible(text), style=style), soft_wrap=True)


def table(console: Console, rows: Sequence[Sequence[str]], *, heads: Sequence[str] = (), indent: int = 0) -> None:
    """Print rows in aligned columns, the heads in bold."""
    from rich.cells import cell_len, set_cell_size

    shown = [[visible(cell) for cell in row] for row in ([heads, *rows] if heads else rows)]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    for number, row in enumerate(shown):
        line = "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True))
        say(console, " " * indent + line.rstrip(), "bold" if heads and number == 0 else "")


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout. Infinity, which JSON has not, becomes the text "inf"."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=True))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def sentence(parts: Iterable[str]) -> str:
    """The parts that are not empty, two spaces between them."""
    return "  ".join(part for part in parts if part)
