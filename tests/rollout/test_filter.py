"""One rule for what is right: a score that reaches `solved`, but for what floats leave."""

from __future__ import annotations

import pytest

from strop.rollout.filter import Filter, solves
from strop.types import Completion, Group, Prompt, Rollout, Verdict


@pytest.mark.parametrize("score, right", [(0.1 + 0.7, True), (0.8, True), (1.0, True), (0.79, False)])
def test_a_score_is_right_if_it_reaches_solved_but_for_rounding(score: float, right: bool) -> None:
    """0.1 + 0.7 is 0.7999999999999999."""
    assert solves(score, 0.8) is right
    completion = Completion((5, 2), (-1.0, -1.0), "", "stop", 0)
    group = Group(0, Prompt("p", "?"), (1,), (Rollout(completion, score), Rollout(completion, score)))
    assert Filter(solved=0.8).fate(group) == ("all_right" if right else "all_wrong")


def test_the_tolerance_is_the_filters_own() -> None:
    assert solves(0.75, 0.8, tolerance=0.1)
    assert not solves(0.75, 0.8, tolerance=0.01)


def scored(*scores: float | None) -> Group:
    completion = Completion((5, 2), (-1.0, -1.0), "", "stop", 0)
    verdicts = [Verdict.unscorable("it failed") if score is None else Verdict(score) for score in scores]
    return Group(0, Prompt("p", "?"), (1,), tuple(Rollout.judged(completion, verdict) for verdict in verdicts))


@pytest.mark.parametrize(
    ("scores", "fate", "unfiltered"),
    [
        ((1.0, None, 0.0), "trained", "trained"),
        ((1.0, None, 1.0), "all_right", "trained"),
        ((None, 0.0, 0.0), "all_wrong", "trained"),
        ((None, 1.0), "errored", "errored"),
        ((None, None, None), "errored", "errored"),
        ((1.0,), "all_right", "trained"),
    ],
)
def test_a_group_is_judged_by_the_completions_that_have_a_score(
    scores: tuple[float | None, ...], fate: str, unfiltered: str
) -> None:
    """Report B38: what failed is no 0, so it is no spread either."""
    # https://github.com/NVIDIA-NeMo/Gym/pull/2015
    assert Filter().fate(scored(*scores)) == fate
    assert Filter("none").fate(scored(*scores)) == unfiltered
