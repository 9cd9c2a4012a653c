"""Accuracy: unbiased pass@k, majorities, intervals over prompts, and comparisons pair by pair."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from strop.evaluate import Estimate, evaluate, majority, paired_difference, pass_at
from strop.rollout.engine import Request, Sampling
from strop.tasks.arithmetic import Arithmetic
from strop.types import Completion


@pytest.mark.parametrize("n, right", [(8, 0), (8, 3), (8, 8), (5, 1)])
def test_pass_at_k_is_the_share_of_subsets_with_a_right_one(n: int, right: int) -> None:
    marks = [1] * right + [0] * (n - right)
    for k in range(1, n + 1):
        subsets = list(itertools.combinations(marks, k))
        assert pass_at(n, right, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-12)


def test_the_majority_counts_answers_only_and_ties_by_their_mean() -> None:
    assert majority(["3", "3", "5"], [1.0, 1.0, 0.0]) == 1.0
    assert majority(["3", "5"], [1.0, 0.0]) == 0.5
    assert majority(["", "", "5"], [0.0, 0.0, 1.0]) == 1.0
    assert majority(["", ""], [0.0, 0.0]) == 0.0


def test_intervals_are_over_prompts_and_not_over_completions() -> None:
    """Two prompts with means 0 and 1: std of prompt means 0.7071, half-width 1.96 * 0.7071 / sqrt(2) = 0.98."""
    estimate = Estimate.over([0.0, 1.0])
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.5, 0.5 - 0.98, 0.5 + 0.98))


def test_the_interval_of_scores_ends_where_scores_end() -> None:
    estimate = Estimate.of_scores([1.0, 1.0, 0.9])
    assert estimate.high == 1.0
    assert estimate.low == Estimate.over([1.0, 1.0, 0.9]).low
    assert Estimate.of_scores([-1.0, 1.0]).low == -1.0


class Answers:
    """Gives the right digit with a chance of `skill`, by draw and index; greedy gives it always."""

    version = 0

    def __init__(self, task: Arithmetic, prompts: list, skill: float) -> None:
        self.task, self.prompts, self.skill = task, prompts, skill

    def load(self, version: int) -> None:
        self.version = version

    def sample(self, requests: list[Request], sampling: Sampling, progress: object = None):  # noqa: ANN201
        for request in requests:
            right = self.prompts[request.draw].columns["answer"]
            rng = random.Random(request.draw)
            texts = [
                f"#{right}" if sampling.temperature == 0 or rng.random() < self.skill else "#x"
                for _ in range(request.completions)
            ]
            yield tuple(Completion((7, 2), (-1.0, -1.0), text, "stop", 0) for text in texts)


def test_an_evaluation_says_how_good_by_size_and_style_and_two_are_compared_pair_by_pair() -> None:
    task = Arithmetic()
    prompts = list(task.held_out(40))
    ids = [(1,)] * len(prompts)

    def measured(skill: float):  # noqa: ANN202
        engine = Answers(task, prompts, skill)
        return evaluate(engine, task, prompts, ids, completions=8, sampling=Sampling(16))  # type: ignore[arg-type]

    low, high = measured(0.3), measured(0.8)
    assert low.n, low.k == (40, 8)
    assert low.greedy.value == 1.0
    assert low.pass_at[1].value == pytest.approx(low.avg.value, abs=1e-12)
    assert list(low.pass_at) == [1, 2, 4, 8]
    assert sum(count for _, count in low.by["size"].values()) == 320
    assert set(low.by["style"]) == {"direct"}
    gain = paired_difference(low, high)
    assert gain.value == pytest.approx(high.avg.value - low.avg.value, abs=1e-12)
    differences = [b - a for a, b in zip(low.per_prompt, high.per_prompt, strict=True)]
    mean = sum(differences) / 40
    std = math.sqrt(sum((d - mean) ** 2 for d in differences) / 39)
    assert gain.high - gain.value == pytest.approx(1.96 * std / math.sqrt(40), abs=1e-12)
