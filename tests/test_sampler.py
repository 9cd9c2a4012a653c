"""The groups of a step: drawn in order, scored, shaped, and stopped where nothing can be scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from strop.algorithms import algorithm
from strop.config.load import load
from strop.errors import NotEnoughSignal, RewardError
from strop.rollout.collect import balanced
from strop.rollout.encode import Encoder
from strop.rollout.engine_scripted import CodePoints, ScriptedEngine
from strop.rollout.guard import Guard
from strop.sampler import Sampler, refill_of
from strop.types import Completion, Prompt, Verdict
from strop.watch import Stopper, Watcher


class Letters:
    """Prompt n asks for the letter of n; a completion of `!` makes the reward fail."""

    name = description = "letters"

    def prompt(self, draw: int) -> Prompt:
        return Prompt(f"p{draw}", f"{draw}?", {"answer": "abcdefgh"[draw % 8]}, where=f"letters:{draw + 1}")

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        return [self.verdict(prompt, completion.text) for completion in completions]

    def verdict(self, prompt: Prompt, text: str) -> Verdict:
        if text == "!":
            return Verdict.unscorable("letter raised ValueError: !")
        return Verdict(float(text == prompt.columns["answer"]), bonus=0.25, answer=text)


class Listener(Watcher):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warned(self, text: str) -> None:
        self.warnings.append(text)


class Characters(CodePoints):
    """The scripted engine's tokenizer, as an encoder calls one."""

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        return {"input_ids": self.encode(text)}


def sampler(script: Any, watch: Watcher, **rollout: Any) -> Sampler:
    settings = {"prompts": 2, "completions": 4, "max_tokens": 4, "overlong": {"buffer": 3, "penalty": 1.0}, **rollout}
    config = load(mapping={"rollout": settings, "train": {"updates": 1}})
    encode = Encoder(Characters(), max_prompt_tokens=9)
    task: Any = Letters()
    return Sampler(config, algorithm("dapo"), task, encode, ScriptedEngine(script), Guard(0.5), watch, Stopper())


def mixed(ids: tuple[int, ...], draw: int, completion: int) -> str:
    """Right, wrong, failing and wrong again."""
    return ("abcdefgh"[draw % 8], "z", "!", "zz")[completion]


def test_a_completion_that_could_not_be_scored_leaves_its_group_trained_and_is_told_once() -> None:
    watch = Listener()
    maker = sampler(mixed, watch)
    collected = maker.collect(cursor=3, version=0)
    assert [group.draw for group in collected.trained] == [3, 4]
    assert collected.cursor == 5
    for group in collected.trained:
        assert group.scores == (1.0, 0.0, 0.0)
        assert [rollout.error for rollout in group.rollouts] == ["", "", "letter raised ValueError: !", ""]
        assert [rollout.penalty for rollout in group.rollouts] == pytest.approx([-1 / 3, -1 / 3, -1 / 3, -2 / 3])
        assert group.rollouts[0].reward == pytest.approx(1.25 - 1 / 3)
    expected = "a completion could not be scored, and is left out: prompt letters:4: letter raised ValueError: !"
    assert watch.warnings == [expected]
    maker.collect(cursor=5, version=0)
    assert watch.warnings == [expected]


def test_groups_that_could_not_be_scored_are_drawn_again_and_counted() -> None:
    def script(ids: tuple[int, ...], draw: int, completion: int) -> str:
        return "!" if draw % 2 and completion else mixed(ids, draw, completion)

    collected = sampler(script, Listener()).collect(cursor=0, version=0)
    assert [group.draw for group in collected.trained] == [0, 2]
    assert collected.ledger["errored"] == sum(fate == "errored" for _, fate in collected.fates) > 0
    assert balanced(collected.ledger)


def test_a_reward_that_fails_on_everything_stops_after_the_first_round() -> None:
    asked: list[int] = []

    def script(ids: tuple[int, ...], draw: int, completion: int) -> str:
        asked.append(draw)
        return "!"

    with pytest.raises(
        RewardError, match="failed on all of the last 8 completions, such as prompt letters:1: letter raised"
    ):
        sampler(script, Listener()).collect(cursor=0, version=0)
    assert set(asked) == {0, 1}


def test_what_could_not_be_scored_is_named_where_too_few_groups_have_signal() -> None:
    def script(ids: tuple[int, ...], draw: int, completion: int) -> str:
        return "!" if draw % 4 and completion else "z"

    expected = "0 were all right, 1 all wrong, 3 could not be scored. Mend the reward, which fails"
    with pytest.raises(NotEnoughSignal, match=expected):
        sampler(script, Listener(), max_draws=4).collect(cursor=0, version=0)


def test_without_a_bound_a_step_may_draw_twenty_times_its_prompts() -> None:
    assert refill_of(load(mapping={"rollout": {"prompts": 3}, "train": {"updates": 1}})).max_draws == 60
    bounded = load(mapping={"rollout": {"prompts": 3, "max_draws": 7}, "train": {"updates": 1}})
    assert refill_of(bounded).max_draws == 7
