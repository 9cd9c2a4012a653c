"""The answer that a completion gives in <answer> tags, behind its thinking."""

from __future__ import annotations

OPEN, CLOSE, THOUGHT = "<answer>", "</answer>", "</think>"


def answer(completion: str) -> str:
    """What stands in the last <answer> tags behind the last </think>; without any, all that stands behind it."""
    text = completion.rpartition(THOUGHT)[2]
    if not is_tagged(completion):
        return text.strip()
    return text[: text.rindex(CLOSE)].rpartition(OPEN)[2].strip()


def is_tagged(completion: str) -> bool:
    """Whether an <answer> begins and ends behind the last </think>."""
    text = completion.rpartition(THOUGHT)[2]
    end = text.rfind(CLOSE)
    return end >= 0 and OPEN in text[:end]
