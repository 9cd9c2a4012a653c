"""Text from a model, a data file or an error, made safe to print: what would move the cursor is shown instead.

A completion may hold anything its tokenizer can spell: escape sequences that clear the screen or write the clipboard,
marks that reverse the reading direction, or half a character. Everything strop prints goes through here.
"""

from __future__ import annotations

import unicodedata

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of Unicode that act or have no picture: controls, bidi and zero-width marks, surrogates, breaks."""
CONTROL_PICTURES = 0x2400


def visible(text: str, *, limit: int = 0) -> str:
    """The text in one line with every character that acts shown as a mark; cut to `limit` characters if it is not 0.

    newline -> a return arrow   ESC -> its picture   other controls and invisible characters -> <U+202E>
    """
    cut = limit and len(text) > limit
    shown = "".join(_mark(character) for character in (text[:limit] if cut else text))
    return f"{shown}... ({len(text) - limit} more)" if cut else shown


def _mark(character: str) -> str:
    if unicodedata.category(character) not in UNSEEN:
        return character
    code = ord(character)
    if character == "\n":
        return "\u23ce"
    return chr(CONTROL_PICTURES + code) if code < 0x20 else f"<U+{code:04X}>"
