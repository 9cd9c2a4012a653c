"""The reward `format`: 1 where a completion is exactly <think>...</think> <answer>...</answer>, else 0.

Each tag stands once and in order, each block holds something, and only white space stands around the blocks. It is
read by counting and finding, so a text of any length takes one pass. For other tags write a reward of your own:

    from strop.rewards.formats import follows

    def score(completion, **columns):
        return float(follows(completion, ("plan", "code", "answer")))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TAGS = ("think", "answer")


def score(completion: str, **columns: Any) -> float:
    """1.0 if the completion follows TAGS, else 0.0."""
    return float(follows(completion, TAGS))


def answer(completion: str) -> str:
    """What the answer block holds, or "" if the completion does not follow TAGS."""
    found = blocks(completion, TAGS)
    return found[-1].strip() if found else ""


def follows(text: str, tags: Sequence[str], *, opened: bool = False) -> bool:
    """Whether a text is blocks of these tags, one each, in order, each with something in it.

    `opened` says that the prompt ends with the first opening tag, so that the text begins inside of it.
    """
    return bool(blocks(text, tags, opened=opened))


def blocks(text: str, tags: Sequence[str], *, opened: bool = False) -> list[str]:
    """What each block holds, or nothing if the text does not follow the tags."""
    text = f"<{tags[0]}>{text}" if opened else text
    if any(text.count(mark) != 1 for tag in tags for mark in (f"<{tag}>", f"</{tag}>")):
        return []
    found: list[str] = []
    rest = text
    for tag in tags:
        before, _, rest = rest.partition(f"<{tag}>")
        content, closed, rest = rest.partition(f"</{tag}>")
        if before.strip() or not closed or not content.strip():
            return []
        found.append(content)
    return [] if rest.strip() else found
