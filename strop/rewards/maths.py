"""The reward `math`: 1 where a completion's answer is the right one, 0 where it is not or there is none.

The answer is that of its last box or answer block, of "the answer is ...", or in bold (strop.rewards.extract). It is
compared exactly, and where that cannot tell by math-verify, which is needed from the start: without it the same answer
would be right on one machine and wrong on another.
"""

from __future__ import annotations

from typing import Any

from strop.rewards import maths_verify
from strop.rewards.extract import answer_text
from strop.rewards.gold import gold
from strop.rewards.verdict import Judgement, judge, logged, voted

maths_verify.load()


def score(completion: str, **columns: Any) -> dict[str, float]:
    """1.0 or 0.0 as `score`; `answered`, `undecided` and `math_verify` say whether there was an answer, nobody could
    tell, and math-verify was asked."""
    text = answer_text(completion)
    judged = judge(gold(columns), text, maths_verify.ask)
    return {**logged(text, judged), "math_verify": float(judged.by == "math-verify")}


def answer(completion: str) -> str:
    """The completion's answer, equal ones written alike."""
    return voted(answer_text(completion))


def verdict(right: Any, completion: str) -> Judgement:
    """Whether a completion's answer is the right one, and why."""
    return judge(right, answer_text(completion), maths_verify.ask)
