from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from strop.cli.tables import make_console, print_json, say, sentence, table


def console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=40, highlight=False, markup=False, emoji=False), out


def test_a_long_line_is_neither_wrapped_nor_cut() -> None:
    screen, out = console()
    say(screen, "x" * 200)
    assert out.getvalue() == "x" * 200 + "\n"


@pytest.mark.parametrize("text", ["[bold]a[/bold]", "[/INST]", ":smile:", "[red]", "a\x1b[2J"])
def test_nothing_is_read_as_markup(text: str) -> None:
    screen, out = console()
    say(screen, text)
    table(screen, [[text, "b"]])
    assert out.getvalue().count(text.replace("\x1b", "\u241b")) == 2
    assert "\x1b" not in out.getvalue()


def test_columns_are_aligned_also_under_wide_characters() -> None:
    screen, out = console()
    table(screen, [["a", "1"], ["\u6f22\u5b57", "2"]], heads=["name", "n"])
    assert out.getvalue().splitlines() == ["name  n", "a     1", "\u6f22\u5b57  2"]


def test_json_has_no_infinity_and_sorts_sets(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": float("inf"), "b": [float("nan")], "c": {"y", "x"}, 1: (True, None)})
    assert json.loads(capsys.readouterr().out) == {"a": "inf", "b": ["nan"], "c": ["x", "y"], "1": [True, None]}


def test_a_sentence_leaves_empty_parts_out() -> None:
    assert sentence(["a", "", "b"]) == "a  b"


def test_the_console_of_a_pipe_has_no_colours() -> None:
    assert not make_console().is_terminal
