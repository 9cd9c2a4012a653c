"""Accuracy: unbiased pass@k, majorities, intervals over prompts, and comparisons pair by pair."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from strop import evaluate as module
from strop.assets.tiny.make import make_tokenizer
from strop.config.load import load
from strop.errors import DataError, RewardError
from strop.evaluate import Estimate, evaluate, evaluate_model, majority, paired_difference, pass_at
from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_hf import HFEngine
from strop.rollout.engine_scripted import ScriptedEngine
from strop.tasks.arithmetic import Arithmetic
from strop.types import Completion, Prompt, Verdict
from strop.watch import Watcher
from tests.learner import tiny_llama


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


class Length:
    """A completion of one letter is worth 0.1 + 0.7, which floats make 0.7999999999999999; any other nothing."""

    name = "length"

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        texts = [completion.text for completion in completions]
        return [
            Verdict.unscorable("it is of three") if len(t) == 3 else Verdict((0.1 + 0.7) * (len(t) == 1), answer=t)
            for t in texts
        ]

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        return {}


def by_length(engine: Any, prompts: int, **settings: Any) -> Any:
    asked = [Prompt(f"p{i}", "?") for i in range(prompts)]
    ids = [(3, 4, 5 + i) for i in range(prompts)]
    return evaluate(engine, Length(), asked, ids, **{"sampling": Sampling(8), **settings})  # type: ignore[arg-type]


@pytest.mark.parametrize("completions, counts", [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_pass_at_k_goes_up_to_all_completions(completions: int, counts: list[int]) -> None:
    engine = ScriptedEngine(lambda ids, draw, completion: "4" if completion == 5 else "no")
    result = by_length(engine, 2, completions=completions, solved=0.8)
    assert list(result.pass_at) == counts
    assert result.pass_at[counts[-1]].value == (1.0 if completions > 5 else 0.0)


def test_a_score_is_solved_by_the_rule_of_the_filter() -> None:
    engine = ScriptedEngine(lambda *_: "4")
    assert by_length(engine, 2, completions=2, solved=0.8).pass_at[1].value == 1.0
    assert by_length(engine, 2, completions=2, solved=0.8, tolerance=0.0).pass_at[1].value == 0.0


def engine_of_one_batch() -> HFEngine:
    return HFEngine(tiny_llama(dtype=torch.float32), make_tokenizer(), rows=256)


def test_progress_counts_completions_while_they_are_sampled_and_the_greedy_ones_too() -> None:
    seen: list[tuple[int, int]] = []
    by_length(engine_of_one_batch(), 3, completions=4, progress=lambda done, total: seen.append((done, total)))
    assert {total for _, total in seen} == {15}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert {0, 12, 15} <= {done for done, _ in seen}
    assert len(seen) > 6  # at every token of a batch


def test_what_progress_raises_ends_an_evaluation_inside_a_batch() -> None:
    engine = engine_of_one_batch()
    engine.module.train()
    forwards: list[int] = []
    engine.module.register_forward_hook(lambda *_: forwards.append(1))

    def stop(done: int, total: int) -> None:
        if len(forwards) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        by_length(engine, 3, completions=4, sampling=Sampling(40), progress=stop)
    assert len(forwards) == 2
    assert engine.module.training
    assert not torch.is_inference_mode_enabled()


def not_loaded(*_: Any, **__: Any) -> None:
    raise AssertionError("the model was loaded")


@pytest.mark.parametrize(
    "settings, says",
    [
        ({"task": {"max_prompt_tokens": 1}}, "over the limit of 1; shorten it"),
        ({"rollout": {"max_tokens": 256}}, "with max_tokens 256 needs .* positions; the model has 256"),
    ],
)
def test_a_prompt_that_does_not_fit_is_told_before_the_model_loads(
    settings: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "load", not_loaded)
    with pytest.raises(DataError, match=says):
        evaluate_model(load(mapping=settings), Watcher())


def test_an_evaluation_tells_what_is_odd_about_its_config() -> None:
    config = load(mapping={"eval": {"prompts": 2, "completions": 3}, "train": {"steps": 1, "warmup_steps": 9}})
    assert config.warnings
    told: list[str] = []
    ticks: list[tuple[str, int, int]] = []

    class Listener(Watcher):
        def warned(self, text: str) -> None:
            told.append(text)

        def progress(self, phase: str, done: int, total: int) -> None:
            ticks.append((phase, done, total))

    result = evaluate_model(config, Listener())
    assert tuple(told) == config.warnings
    assert (result.n, result.k, list(result.pass_at)) == (2, 3, [1, 2, 3])
    assert ticks[-1] == ("evaluate", 8, 8)


def test_an_unscorable_completion_is_in_no_accuracy_and_in_the_count() -> None:
    """Report B38: three of four completions are right or wrong; the fourth is neither."""
    # https://github.com/NVIDIA-NeMo/Gym/pull/2015
    texts = {0: ("4", "no", "bad", "4"), 1: ("no", "no", "no", "no"), 2: ("bad", "bad", "bad", "bad")}
    engine = ScriptedEngine(lambda ids, draw, completion: texts[draw][completion])
    result = by_length(engine, 3, completions=4, solved=0.8)
    assert result.per_prompt[:2] == (pytest.approx(2 * 0.8 / 3), 0.0)
    assert math.isnan(result.per_prompt[2])
    assert result.avg.value == pytest.approx(0.8 / 3)
    assert result.pass_at[1].value == pytest.approx(1 / 3)
    assert result.pass_at[4].value == 0.5
    assert result.maj.value == pytest.approx(0.4)
    assert result.greedy.value == pytest.approx(0.4)
    assert result.unscorable == result.record()["unscorable"] == 1 + 4 + 1
    assert paired_difference(result, result).value == 0.0


def test_an_evaluation_in_which_nothing_could_be_scored_is_an_error_and_no_number() -> None:
    with pytest.raises(RewardError, match="prompts could be scored, such as it is of three"):
        by_length(ScriptedEngine(lambda *_: "bad"), 2, completions=2)
