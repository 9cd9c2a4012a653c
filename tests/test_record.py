"""What a run writes about itself: shares by score, levelled rewards, totals, and a verdict that fits how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from strop.config.load import load
from strop.evaluate import Estimate, Evaluation
from strop.metrics import Mean, Sum
from strop.record import Totals, credit, reward_facts, step_record, summary
from strop.rollout.collect import Collected, Ledger
from strop.run.store import Credit
from strop.types import Completion, Group, Prompt, Rollout


def group(draw: int, scores: tuple[float, ...]) -> Group:
    rollouts = tuple(Rollout(Completion((5, 6), (-1.0, -1.0), "", "stop", 0), score) for score in scores)
    return Group(draw, Prompt(str(draw), "?"), (1,), rollouts)


def collected(*groups: Group) -> Collected:
    ledger = Ledger(generated=[len(groups), 4 * len(groups)])
    ledger.fates["trained"] = [len(groups), 4 * len(groups)]
    return Collected(groups, (), groups, tuple((g, "trained") for g in groups), len(groups), ledger.record())


def evaluation(*per_prompt: float) -> Evaluation:
    estimate = Estimate.of_scores(per_prompt)
    return Evaluation(estimate, {1: estimate}, estimate, estimate, 0.0, 5.0, len(per_prompt), 1, {}, per_prompt)


def test_shares_are_judged_by_score_also_where_no_filter_drops_a_group() -> None:
    met = collected(group(0, (1.0, 1.0)), group(1, (0.0, 0.0)), group(2, (1.0, 0.0)), group(3, (1.0, 1.0)))
    row = step_record(met, {}, {"time/sample": 1.0, "time/train": 2.0}, credits={}, solved=1.0)
    assert (row["share/all_right"], row["share/all_wrong"]) == (0.5, 0.25)
    assert row["groups/all_right"] == 0
    assert row["time/step"] == 3.0


def test_a_group_without_a_single_advantage_counts_as_levelled() -> None:
    """Report B17 (b): mixed scores whose shaped rewards are equal."""
    # https://github.com/NVIDIA-NeMo/RL/issues/2431
    credits = {0: Credit(1, (0.0, 0.0)), 1: Credit(1, (0.7, -0.7))}
    row = step_record(collected(group(0, (1.0, 0.0))), {}, {}, credits=credits, solved=1.0)
    assert row["groups/flat_reward"] == 1


def test_a_metric_that_observed_nothing_is_null_and_never_nan() -> None:
    metrics = {"clip_ratio/high_prob": Mean(0.0, 0.0), "loss": Sum(0.25)}
    row = step_record(collected(group(0, (1.0, 0.0))), metrics, {}, credits={}, solved=1.0)
    assert row["clip_ratio/high_prob"] is None
    assert row["loss"] == 0.25


@pytest.mark.parametrize(
    ("before", "after", "stopped", "verdict"),
    [
        ((0.0, 0.2, 0.1), (1.0, 0.9, 1.0), "", "improved"),
        ((1.0, 0.9, 1.0), (0.0, 0.2, 0.1), "", "worse"),
        ((0.0, 1.0, 0.5), (1.0, 0.0, 0.5), "", "no clear change"),
        ((0.0, 1.0, 0.5), None, "", "interrupted"),
        ((0.0, 1.0, 0.5), None, "reward f raised", "stopped: reward f raised"),
        (None, None, "", "interrupted"),
    ],
)
def test_the_verdict_follows_the_paired_interval_or_how_the_run_ended(
    before: tuple[float, ...] | None, after: tuple[float, ...] | None, stopped: str, verdict: str
) -> None:
    record = summary(
        algorithm="dapo",
        model="m",
        steps=3,
        seconds=1.0,
        before=evaluation(*before) if before else None,
        after=evaluation(*after) if after else None,
        totals=Totals(),
        stopped=stopped,
    )
    assert record["verdict"] == verdict
    assert ("gain" in record) == (after is not None)


def test_credit_finds_each_groups_update_and_advantages() -> None:
    from strop.algorithms import algorithm

    trained = [group(4, (1.0, 0.0)), group(9, (1.0, 1.0, 0.0))]
    found = credit(trained, algorithm("dapo", advantage="centered"), updates=2, first_update=7)
    assert found[4] == Credit(7, (0.5, -0.5))
    assert found[9].update == 8
    assert found[9].advantages == pytest.approx((1 / 3, 1 / 3, -2 / 3))


def test_the_header_tells_what_scores_and_where_programs_run() -> None:
    def told(**task: Any) -> dict[str, str]:
        return reward_facts(load(mapping={"task": {"kind": "arithmetic", **task}}).task)

    assert told() == {}
    scoring = {"workers": 3, "deadline_s": 0.5}
    rewards = ["math", {"use": "format", "weight": 0.2}]
    expected = "math, format x 0.2; 3 processes, 0.5 s for each completion"
    assert told(reward=rewards, scoring=scoring) == {"rewards": expected}
    mixed = told(kind="mixture", mix=[{"kind": "arithmetic", "reward": "code"}], scoring={"sandbox": "unsafe"})
    assert mixed["rewards"].startswith("code; ")
    assert mixed["sandbox"].startswith("UNSAFE: programs that the model writes run as this user")
