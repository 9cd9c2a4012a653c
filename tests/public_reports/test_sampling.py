"""Dynamic sampling: which groups are kept, how long it goes on, and what happens at the end of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st

import strop
from strop.errors import NotEnoughSignal
from strop.objective.advantage import ADVANTAGES
from strop.rollout.collect import Refill, balanced, collect
from strop.rollout.filter import Filter
from strop.tasks.file_task import FileTask
from strop.types import Completion, Group, Prompt, Rollout
from tests.tasks.fakes import scorer

MIXED, FLAT = (1.0, 0.0), (0.0, 0.0)
SCORE = st.sampled_from([0.0, 0.1, 0.5, 1.0])
PENALTY = st.sampled_from([0.0, -0.25, -0.5, -1.0])


def group(draw: int, scores: Sequence[float], penalties: Sequence[float] = (), prompt: Prompt | None = None) -> Group:
    shaped = zip(scores, penalties or [0.0] * len(scores), strict=True)
    rollouts = tuple(Rollout(Completion((5,), (-1.0,), "", "stop", 0), *pair) for pair in shaped)
    return Group(draw, prompt or Prompt(str(draw), "?"), (1,), rollouts)


@given(drawn=st.lists(st.tuples(SCORE, PENALTY), min_size=1, max_size=6))
@example(drawn=[(0.0, 0.0), (0.0, -0.5), (0.0, -1.0), (0.0, -1.0)])
@example(drawn=[(1.0, -1.0), (0.0, 0.0)])
def test_no_length_penalty_keeps_or_drops_a_group(drawn: list[tuple[float, float]]) -> None:
    """Report B17, https://github.com/NVIDIA-NeMo/RL/issues/2431: an all-wrong group would learn to be short."""
    scores, penalties = zip(*drawn, strict=True)
    assert Filter().fate(group(0, scores, penalties)) == Filter().fate(group(0, scores))
    signal = strop.has_signal(torch.tensor(scores, dtype=torch.float64), torch.zeros(len(scores)))
    assert (Filter().fate(group(0, scores, penalties)) == "trained") == bool(signal[0])


@given(scores=st.lists(st.floats(-9, 9), min_size=1, max_size=8), prompts=st.integers(1, 4), rounds=st.integers(1, 3))
@example(scores=[5.0, 0.0], prompts=2, rounds=3)
def test_groups_of_one_end_the_search_within_its_bound(scores: list[float], prompts: int, rounds: int) -> None:
    """Report B15, https://github.com/radixark/miles_diffusion/pull/253: the deviation of one reward is NaN."""
    asked: list[int] = []

    def draw(draws: range) -> Iterator[Group]:
        asked.extend(draws)
        return (group(place, [scores[place % len(scores)]]) for place in draws)

    with pytest.raises(NotEnoughSignal, match=f"0 of the {prompts} needed"):
        collect(draw, cursor=0, version=0, refill=Refill(prompts, prompts * rounds), rule=Filter())
    assert len(asked) == prompts * rounds
    for kind in ADVANTAGES:
        credit = strop.advantages(torch.tensor(scores), torch.arange(len(scores)), kind)
        assert credit.tolist() == [0.0] * len(scores)


@given(
    usable=st.lists(st.booleans(), min_size=1, max_size=8),
    prompts=st.integers(1, 5),
    cap=st.integers(1, 24),
    exhaustion=st.sampled_from(["error", "short"]),
)
@example(usable=[True, False], prompts=2, cap=3, exhaustion="error")
@example(usable=[True, True, True, *[False] * 9], prompts=4, cap=12, exhaustion="error")
@example(usable=[False], prompts=4, cap=80, exhaustion="short")
def test_a_bound_on_draws_is_met_exactly_and_an_error_counts_right(
    usable: list[bool], prompts: int, cap: int, exhaustion: str
) -> None:
    """Report B18, https://github.com/BytedTsinghua-SIA/DAPO/issues/22: off by one, and "10 > 10"."""
    asked: list[int] = []

    def draw(draws: range) -> Iterator[Group]:
        asked.extend(draws)
        return (group(place, MIXED if usable[place % len(usable)] else FLAT) for place in draws)

    good = [place for place in range(cap) if usable[place % len(usable)]]
    refill = Refill(prompts, cap, exhaustion=exhaustion)  # type: ignore[arg-type]
    if len(good) < prompts and (exhaustion == "error" or not good):
        with pytest.raises(NotEnoughSignal, match=f"drew {cap} groups .*, {len(good)} of the {prompts} needed"):
            collect(draw, cursor=0, version=0, refill=refill, rule=Filter())
        assert asked == list(range(cap))
        return
    found = collect(draw, cursor=0, version=0, refill=refill, rule=Filter())
    assert [one.draw for one in found.trained] == good[:prompts]
    assert asked == list(range(len(asked))) and len(asked) <= cap
    assert balanced(found.ledger)


@given(
    usable=st.lists(st.booleans(), min_size=1, max_size=8),
    prompts=st.integers(1, 4),
    surplus=st.sampled_from(["drop", "carry"]),
    steps=st.integers(1, 6),
)
@example(usable=[True, True, True, True, True, False], prompts=2, surplus="drop", steps=5)
@example(usable=[True, False, True, True, True, True], prompts=2, surplus="carry", steps=5)
@example(usable=[True, True, False, True, True, True], prompts=3, surplus="carry", steps=2)
def test_batches_are_whole_and_every_draw_accounted_for_across_epochs(
    usable: list[bool], prompts: int, surplus: str, steps: int
) -> None:
    """Reports B20, https://github.com/NovaSky-AI/SkyRL/pull/2228, and B23, https://github.com/NVIDIA-NeMo/RL/pull/602.

    An epoch may end inside a step; it is no event. Each batch is `prompts` whole groups in the order they were drawn.
    """
    assume(any(usable))
    rows = tuple(Prompt(f"row {i}", "?", {"usable": good}) for i, good in enumerate(usable))
    task = FileTask("d.jsonl", rows, (), scorer(), seed=3)

    def draw(draws: range) -> Iterator[Group]:
        for place in draws:
            prompt = task.prompt(place)
            yield group(place, MIXED if prompt.columns["usable"] else FLAT, prompt=prompt)

    refill = Refill(prompts, 40 * len(usable), surplus, max_staleness=steps)  # type: ignore[arg-type]
    cursor, carried, seen, trained, lost = 0, (), [], [], 0
    for version in range(steps):
        step = collect(draw, cursor=cursor, version=version, refill=refill, rule=Filter(), carried=carried)
        assert balanced(step.ledger) and [len(one.rollouts) for one in step.trained] == [2] * prompts
        cursor, carried = step.cursor, step.carried
        seen.extend(one.prompt.id for one in step.generated)
        trained.extend(one.draw for one in step.trained)
        lost += step.ledger["all_wrong"] + step.ledger["dropped"]
    assert trained == sorted(set(trained))
    assert cursor == len(trained) + lost + len(carried)
    for first in range(0, len(seen) - len(rows) + 1, len(rows)):
        assert sorted(seen[first : first + len(rows)]) == sorted(prompt.id for prompt in rows)
