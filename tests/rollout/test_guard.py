"""A reward that fails too often stops the run, with examples, and one that fails seldom does not."""

from __future__ import annotations

import pytest

from strop.errors import RewardError
from strop.rollout.guard import Guard
from strop.types import Completion, Group, Prompt, Rollout, Verdict


def group(name: str, *errors: str) -> Group:
    completion = Completion((5, 2), (-1.0, -1.0), "", "stop", 0)
    verdicts = [Verdict.unscorable(error) if error else Verdict(1.0) for error in errors]
    return Group(0, Prompt("p", "?", where=name), (1,), tuple(Rollout.judged(completion, v) for v in verdicts))


def step(guard: Guard, failed: int, total: int = 10) -> None:
    guard.saw([group("a:1", *["it raised"] * failed, *[""] * (total - failed))])
    guard.ended()


def test_a_round_in_which_nothing_could_be_scored_stops_the_run_at_once_with_an_example() -> None:
    """Report B38: if every item fails the run stops."""
    # https://github.com/NVIDIA-NeMo/Gym/pull/2015
    with pytest.raises(
        RewardError, match="failed on all of the last 4 completions, such as prompt a:7: it raised; prompt b:2: slow"
    ):
        Guard(1.0).saw([group("a:7", "it raised", "it raised"), group("b:2", "slow", "slow")])


def test_one_late_round_that_fails_whole_is_no_reason_to_stop_and_two_on_end_are() -> None:
    guard = Guard(0.5)
    for _ in range(2):
        guard.saw([group("a:1", *[""] * 8)])
        guard.saw([group("a:2", "it raised", "it raised")])
    guard.saw([group("a:1", "", "it raised")])
    guard.ended()
    guard.saw([group("a:1", "", "")])
    guard.saw([group("a:2", "it raised", "it raised")])
    with pytest.raises(RewardError, match="failed on all of the last 5 completions, such as prompt a:2: it raised"):
        guard.saw([group("a:3", *["it raised"] * 3)])


def test_three_steps_in_a_row_over_the_share_stop_the_run_and_two_do_not() -> None:
    guard = Guard(0.2)
    for failed in (3, 3, 2, 3, 3):
        step(guard, failed)
    with pytest.raises(
        RewardError, match=r"failed on 30% of the completions, and on more than 20% in 3 steps in a row"
    ):
        step(guard, 3)


def test_the_first_failure_of_a_run_is_told_once() -> None:
    guard = Guard(0.9)
    assert guard.saw([group("a:1", "", "")]) == ""
    assert guard.saw([group("a:2", "", "it raised")]) == "prompt a:2: it raised"
    assert guard.saw([group("a:3", "", "slow")]) == ""
    guard.ended()
    assert guard.saw([group("a:4", "", "late")]) == ""


def test_a_share_of_one_lets_everything_but_a_whole_failure_pass() -> None:
    guard = Guard(1.0)
    for _ in range(5):
        step(guard, 9)
