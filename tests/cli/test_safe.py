from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strop.cli.safe import UNSEEN, visible

HOSTILE = [
    "\x1b[2J\x1b[H",  # clears the screen
    "\x1b]52;c;aGk=\x07",  # writes the clipboard
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31m\x9d0;title\x9c",  # the same in one character each
    "a\rb\x08\x7f",
    "\u202eevil\u2066\u200b\ufeff",  # reverses the reading direction, hides
    "\ud800",  # half a character
    "[bold]markup[/INST]",
    "\u2028\u2029\x85",
]


@pytest.mark.parametrize("text", HOSTILE)
@given(st.text())
@example("")
def test_nothing_that_acts_on_a_terminal_comes_out(text: str, more: str) -> None:
    shown = visible(text + more)
    assert not [character for character in shown if unicodedata.category(character) in UNSEEN]
    shown.encode("utf-8")


@given(st.binary())
def test_any_bytes_read_as_text_come_out_safe(raw: bytes) -> None:
    for encoding in ("latin-1", "utf-16-le", "utf-8"):
        shown = visible(raw.decode(encoding, errors="replace"))
        assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in shown)


def test_what_acts_is_shown_as_a_mark() -> None:
    assert visible("a\nb\t\x1b[1m\x85\u202e") == "a\u23ceb\u2409\u241b[1m<U+0085><U+202E>"


@given(st.text(alphabet=st.characters(exclude_categories=list(UNSEEN))))
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_a_long_text_is_cut_and_says_how_much_is_missing() -> None:
    assert visible("abcdef", limit=4) == "abcd... (2 more)"
    assert visible("abcd", limit=4) == "abcd"
