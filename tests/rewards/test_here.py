"""Without processes the same values come from this one."""

from __future__ import annotations

from typing import Any

from strop.rewards.find import as_reward
from strop.rewards.here import Here
from strop.rewards.scorer import Part, Scorer
from tests.rewards.made import PROMPT, completions


def test_the_values_are_there_when_the_job_is_submitted() -> None:
    def score(prompt: str, completion: str, answer: str) -> Any:
        return {"score": float(completion == answer), "length": len(completion)}

    def bonus(completions: list[str], completion_ids: list[list[int]], **rest: Any) -> list[float | None]:
        return [None if not text else float(len(ids)) for text, ids in zip(completions, completion_ids, strict=True)]

    runner = Here([as_reward(score), as_reward(bonus)])
    scorer = Scorer([Part("score", name="score"), Part("bonus", 0.5, "bonus")], 0, runner)
    verdicts = scorer(PROMPT, completions("4", "", "14"))
    assert [(v.score, v.bonus) for v in verdicts] == [(1.0, 1.0), (0.0, 0.0), (0.0, 1.0)]
    assert verdicts[2].parts == {"score": 0.0, "score/length": 2.0, "bonus": 2.0}
    scorer.close()
