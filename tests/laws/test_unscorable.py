"""A reward that fails on some completions: they are as if they were not there, and counted; too many end the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import strop
from strop.algorithms import ROWS
from strop.batch.build import Batch, build
from strop.batch.split import split
from strop.errors import RewardError
from strop.policy.step import Learner, Scored
from strop.rollout.collect import balanced
from strop.run.store import read_rows
from strop.tasks.arithmetic import Arithmetic
from strop.types import Completion, Group, Prompt, Rollout, Verdict
from tests.laws.test_layouts import fixed_streams, learner, run
from tests.learner import gradient_error, ragged_groups


def with_failures(groups: list[Group]) -> list[Group]:
    """Each group with a completion more that could not be scored, at its beginning, at its end or between."""
    failed = Rollout.judged(groups[0].rollouts[0].completion, Verdict.unscorable("it raised"))
    made: list[Group] = []
    for place, group in enumerate(groups):
        rollouts = [*group.rollouts]
        rollouts.insert(place, failed)
        made.append(replace(group, rollouts=tuple(rollouts)))
    return made


@pytest.mark.parametrize("name", list(ROWS))
def test_the_gradient_and_every_metric_are_those_without_the_completions_that_failed(name: str) -> None:
    trainer = learner(name)
    [without] = build(ragged_groups(), trainer.row)
    [batch] = build(with_failures(ragged_groups()), trainer.row)
    right, right_metrics = run(trainer, trainer_input(trainer, without))
    found, metrics = run(trainer, trainer_input(trainer, batch))
    assert gradient_error(found, right) < 1e-12
    assert metrics.keys() == right_metrics.keys()
    for key, metric in metrics.items():
        assert metric.total == pytest.approx(right_metrics[key].total, rel=1e-12, abs=1e-12), key
        assert metric.weight == pytest.approx(right_metrics[key].weight, rel=1e-12), key


def trainer_input(trainer: Learner, batch: Batch) -> Scored:
    return Scored(batch, tuple(split(batch, tokens=24)), **fixed_streams(trainer, batch))


def small(tmp_path: Path, *, steps: int, **task: Any) -> dict[str, Any]:
    return {
        "task": task,
        "rollout": {"prompts": 4, "completions": 8, "max_tokens": 48, "overlong": {"buffer": 24}},
        "train": {"steps": steps, "updates": 2, "learning_rate": 3e-4, "warmup_steps": 0},
        "eval": {"prompts": 8, "completions": 2, "every": 0},
        "runs": str(tmp_path),
        "run": "r",
    }


class Failing(Arithmetic):
    """The reward fails on completions of an even length, and logs the length of the others."""

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        verdicts = super().score(prompt, completions)
        return [
            replace(verdict, parts={"tokens": float(completion.tokens)})
            if completion.tokens % 2
            else Verdict.unscorable("even raised ValueError: an even length")
            for verdict, completion in zip(verdicts, completions, strict=True)
        ]


def test_a_run_goes_on_without_what_could_not_be_scored_and_keeps_account_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report B38: a failure is no score of 0; it is left out, and counted."""
    # https://github.com/NVIDIA-NeMo/Gym/pull/2015
    monkeypatch.setattr("strop.loop.find_task", lambda *_, seed, **__: Failing(seed=seed))
    scoring = {"max_unscorable": 1.0}
    finished = strop.train(small(tmp_path, steps=3, scoring=scoring))
    errored = 0
    for record in read_rows(finished.folder / "metrics.jsonl"):
        rows = pq.read_table(finished.folder / "rollouts" / f"step-{record['step']:06d}.parquet").to_pylist()
        assert {len(row["ids"]) % 2 == 0 for row in rows if row["error"]} == {True}
        assert {len(row["ids"]) % 2 == 0 for row in rows if not row["error"]} == {False}
        failed = [row for row in rows if row["error"]]
        assert len(failed) == record["rewards/unscorable"] > 0
        assert {(row["score"], row["reward"]) for row in failed} == {(None, None)}
        assert {row["advantage"] for row in failed if row["fate"] == "trained"} <= {0.0}
        lengths = [len(row["ids"]) for row in rows if not row["error"]]
        assert record["rewards/tokens/mean"] == pytest.approx(sum(lengths) / len(lengths))
        scores = [row["score"] for row in rows if not row["error"]]
        assert record["accuracy/all"] == pytest.approx(sum(scores) / len(scores))
        errored += record["groups/errored"]
    assert finished.summary["ledger"]["errored"] == errored
    assert all(map(balanced, read_rows(finished.folder / "ledger.jsonl")))
    assert finished.summary["accuracy_after"]["unscorable"] > 0


def test_a_run_whose_reward_fails_too_often_stops_with_an_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strop.loop.find_task", lambda *_, seed, **__: Failing(seed=seed))
    with pytest.raises(RewardError, match=r"in 3 steps in a row .*such as prompt .*an even length"):
        strop.train(small(tmp_path, steps=9))
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["steps"] == 2
