"""Sampling with refill: what is kept, in which order, what it costs, and that the ledger adds up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import NotEnoughSignal
from strop.rollout.collect import Collected, Refill, balanced, collect
from strop.rollout.filter import Filter
from strop.types import Completion, Group, Prompt, Rollout

MIXED, RIGHT, WRONG = (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)


def group(draw: int, scores: Sequence[float], *, version: int = 0) -> Group:
    rollouts = tuple(
        Rollout(Completion((5,) * (1 + draw % 3), (-1.0,) * (1 + draw % 3), "", "stop", version), s) for s in scores
    )
    return Group(draw, Prompt(str(draw), "?"), (1,), rollouts)


class Stream:
    """Groups with the given scores, by draw; past the end they repeat. Remembers what it was asked for."""

    def __init__(self, scores: Sequence[Sequence[float]]) -> None:
        self.scores, self.rounds = scores, []

    def __call__(self, draws: range) -> Iterator[Group]:
        self.rounds.append(draws)
        return (group(draw, self.scores[draw % len(self.scores)]) for draw in draws)


def fill(stream: Stream, refill: Refill, **kwargs: object) -> Collected:
    return collect(stream, **{"cursor": 0, "version": 0, "refill": refill, "rule": Filter(), **kwargs})  # type: ignore[arg-type]


def test_groups_without_spread_are_replaced_and_kept_ones_stay_in_submission_order() -> None:
    stream = Stream([RIGHT, MIXED, WRONG, MIXED, MIXED])
    collected = fill(stream, Refill(prompts=3, max_draws=20))
    assert [g.draw for g in collected.trained] == [1, 3, 4]
    assert collected.ledger["all_right"] == 1 + sum(d % 5 == 0 for d in range(5, collected.cursor))
    assert {fate for g, fate in collected.fates if g.draw == 2} == {"all_wrong"}
    assert balanced(collected.ledger)


def test_surplus_groups_are_dropped_and_counted_and_no_group_is_split() -> None:
    """Report B23: need 3, the first round keeps 2 and the second 3."""
    # https://github.com/NVIDIA-NeMo/RL/pull/602
    stream = Stream([MIXED, MIXED, WRONG, MIXED, MIXED, MIXED])
    collected = fill(stream, Refill(prompts=3, max_draws=60))
    assert [len(g.rollouts) for g in collected.trained] == [2, 2, 2]
    assert collected.ledger["dropped"] == collected.ledger["generated"] - 3 - collected.ledger["all_wrong"]
    assert balanced(collected.ledger)


def test_carried_groups_come_first_and_a_stale_one_is_dropped_and_counted() -> None:
    carried = (group(7, MIXED, version=3), group(8, MIXED, version=0))
    refill = Refill(prompts=2, max_draws=9, surplus="carry", max_staleness=1)
    collected = fill(Stream([MIXED]), refill, cursor=9, version=4, carried=carried)
    assert [g.draw for g in collected.trained] == [7, 9]
    assert collected.ledger["carried_in"] == 2
    assert collected.ledger["dropped"] == 1
    assert balanced(collected.ledger)


def test_surplus_is_carried_with_its_version_when_asked() -> None:
    stream = Stream([WRONG, MIXED, MIXED, MIXED, MIXED, MIXED])
    collected = fill(stream, Refill(prompts=3, max_draws=60, surplus="carry", max_staleness=1))
    assert len(collected.carried) == collected.ledger["carried_out"]
    assert collected.ledger["dropped"] == 0
    assert balanced(collected.ledger)


@pytest.mark.parametrize("cap", [4, 8])
def test_a_cap_that_is_just_reached_is_no_error(cap: int) -> None:
    """Report B18 (a): the batch fills on the last draw that the cap allows."""
    # https://github.com/BytedTsinghua-SIA/DAPO/issues/22
    scores = [WRONG] * (cap - 1) + [MIXED]
    collected = fill(Stream(scores), Refill(prompts=1, max_draws=cap))
    assert collected.ledger["generated"] == cap


def test_never_more_draws_than_the_cap_and_the_error_says_what_was_found() -> None:
    """Report B18 (b): 3 of 4 after the cap, as a named error with both numbers."""
    # https://github.com/BytedTsinghua-SIA/DAPO/issues/22
    stream = Stream([MIXED, MIXED, MIXED, *[WRONG] * 100])
    with pytest.raises(NotEnoughSignal, match=r"drew 12 .* 3 of the 4 needed .* 0 were all right, 9 all wrong"):
        fill(stream, Refill(prompts=4, max_draws=12))
    assert sum(len(draws) for draws in stream.rounds) == 12


def test_exhaustion_short_trains_the_groups_there_are() -> None:
    collected = fill(Stream([MIXED, *[WRONG] * 9]), Refill(prompts=4, max_draws=10, exhaustion="short"))
    assert len(collected.trained) == 1
    assert balanced(collected.ledger)


def test_a_data_set_without_any_signal_ends_with_an_error_even_when_short_is_allowed() -> None:
    """Report B18 (c): every reward is 1; no endless loop."""
    # https://github.com/BytedTsinghua-SIA/DAPO/issues/22
    with pytest.raises(NotEnoughSignal, match="Use harder prompts"):
        fill(Stream([RIGHT]), Refill(prompts=4, max_draws=40, exhaustion="short"))


def test_signal_is_judged_on_the_score_and_not_on_the_shaped_reward() -> None:
    """Report B17: an all-wrong group whose lengths differ has reward spread, and is dropped all the same."""
    # https://github.com/NVIDIA-NeMo/RL/issues/2431
    shaped = Group(
        0,
        Prompt("p", "?"),
        (1,),
        tuple(Rollout(Completion((1,), (0.0,), "", "stop", 0), 0.0, penalty) for penalty in (0.0, -0.5, -1.0, -1.0)),
    )
    assert Filter().fate(shaped) == "all_wrong"
    levelled = Group(
        0,
        Prompt("p", "?"),
        (1,),
        (
            Rollout(Completion((1,), (0.0,), "", "stop", 0), 1.0, -1.0),
            Rollout(Completion((1,), (0.0,), "", "stop", 0), 0.0),
        ),
    )
    assert Filter().fate(levelled) == "trained"


@pytest.mark.parametrize("value", [0.1, 0.7, 1 / 3])
def test_float_noise_is_no_signal(value: float) -> None:
    """Three copies of 0.1 have a standard deviation of 1.4e-17 in floats: a test of std > 0 would keep them."""
    assert Filter().fate(group(0, [value] * 10)) == "all_wrong"


def test_scores_of_minus_one_and_one_are_judged_by_spread_and_not_by_a_band() -> None:
    assert Filter().fate(group(0, (-1.0, 1.0))) == "trained"
    assert Filter().fate(group(0, (-1.0, -1.0))) == "all_wrong"
    assert Filter(solved=0.5).fate(group(0, (0.5, 0.5))) == "all_right"


@given(
    kinds=st.lists(st.sampled_from([MIXED, RIGHT, WRONG]), min_size=1, max_size=12),
    prompts=st.integers(1, 6),
    surplus=st.sampled_from(["drop", "carry"]),
    steps=st.integers(1, 4),
)
def test_the_ledger_balances_at_every_step_and_every_draw_has_one_fate(
    kinds: list[tuple[float, float]], prompts: int, surplus: str, steps: int
) -> None:
    stream = Stream([*kinds, MIXED])
    refill = Refill(prompts=prompts, max_draws=200, surplus=surplus, max_staleness=2)  # type: ignore[arg-type]
    cursor, carried = 0, ()
    for version in range(steps):
        collected = collect(stream, cursor=cursor, version=version, refill=refill, rule=Filter(), carried=carried)
        assert balanced(collected.ledger)
        assert len(collected.trained) == prompts
        assert len(collected.fates) == collected.ledger["generated"] + collected.ledger["carried_in"]
        assert len({g.draw for g, _ in collected.fates}) == len(collected.fates)
        draws = [g.draw for g in collected.trained]
        assert draws == sorted(draws)
        cursor, carried = collected.cursor, collected.carried
