"""The reward `hash`: 1 where what follows the last #### of a completion is proven equal to the right answer, else 0.

GSM8K's rows end their `answer` the same way, so both sides are cut there. It compares exactly and asks nobody.
"""

from __future__ import annotations

from typing import Any

from strop.rewards.extract import answer_text
from strop.rewards.gold import gold
from strop.rewards.verdict import judge, logged, voted

CARRIERS = ("hash",)


def score(completion: str, **columns: Any) -> dict[str, float]:
    """1.0 or 0.0 as `score`; `answered` and `undecided` say whether there was a ####, and that it could not be read."""
    text = answer_text(completion, CARRIERS)
    return logged(text, judge(gold(columns), text))


def answer(completion: str) -> str:
    """What follows the last ####, equal answers written alike."""
    return voted(answer_text(completion, CARRIERS))
