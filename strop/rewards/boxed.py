r"""The reward `boxed`: 1 where the last \\boxed{...} of a completion is proven equal to the right answer, else 0.

It compares exactly and asks nobody, so it needs nothing installed; `undecided` says how often that was not enough.
"""

from __future__ import annotations

from typing import Any

from strop.rewards.extract import answer_text
from strop.rewards.gold import gold
from strop.rewards.verdict import judge, logged, voted

CARRIERS = ("box",)


def score(completion: str, **columns: Any) -> dict[str, float]:
    """1.0 or 0.0 as `score`; `answered` and `undecided` say whether there was a box, and that it could not be read."""
    text = answer_text(completion, CARRIERS)
    return logged(text, judge(gold(columns), text))


def answer(completion: str) -> str:
    """What the last box holds, equal answers written alike."""
    return voted(answer_text(completion, CARRIERS))
