"""Ranks do shares of a work, and all end up with all of it, or with the same error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from strop.errors import NotEnoughSignal, RewardError, StropError
from strop.rollout.spread import ALONE, Spread
from strop.types import Completion, Rollout, Verdict
from strop.watch import Stopped


def rollouts(item: int) -> tuple[Rollout, ...]:
    completion = Completion((item, 2), (-0.1 * item, -1 / 3), f"it is {item}", "stop", 4)
    failed = Rollout.judged(completion, Verdict.unscorable("it failed"))
    return (Rollout(completion, 1.0, -0.25, bonus=0.1, parts={"form": 0.5}, answer="4"), failed)


def together(ranks: int, task: Callable[[Spread], Any]) -> list[Any]:
    """The task in every rank, each in a thread: what it gives or raises."""
    barrier, box, found = threading.Barrier(ranks), [None] * ranks, [None] * ranks

    def exchange_of(rank: int) -> Callable[[Any], list[Any]]:
        def exchange(value: Any) -> list[Any]:
            import json

            box[rank] = json.loads(json.dumps(value))
            barrier.wait(10)
            return list(box)

        return exchange

    def run(rank: int) -> None:
        try:
            found[rank] = task(Spread(rank, ranks, exchange_of(rank)))
        except (StropError, Stopped) as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("items", [0, 1, 4, 7])
def test_every_rank_has_every_result_in_order_and_each_was_made_once(ranks: int, items: int) -> None:
    done: list[int] = []

    def work(mine: Sequence[int]) -> list[tuple[Rollout, ...]]:
        done.extend(mine)
        return [rollouts(item) for item in mine]

    found = together(ranks, lambda spread: spread.over(range(items), work))
    expected = [[repr(rollout) for rollout in rollouts(item)] for item in range(items)]
    assert all([[repr(one) for one in group] for group in result] == expected for result in found)
    assert sorted(done) == list(range(items))


@pytest.mark.parametrize("kind", [RewardError, NotEnoughSignal])
def test_what_goes_wrong_on_one_rank_goes_wrong_on_all_with_the_same_words(kind: type[StropError]) -> None:
    def task(spread: Spread) -> Any:
        def work(mine: Sequence[int]) -> list[tuple[Rollout, ...]]:
            if spread.rank == 1:
                raise kind("no verdict")
            return [rollouts(item) for item in mine]

        return spread.over(range(5), work)

    found = together(3, task)
    assert [type(one) for one in found] == [kind] * 3
    assert {str(one) for one in found} == {"no verdict (on rank 1)"}


def test_an_interrupt_on_one_rank_stops_all() -> None:
    def task(spread: Spread) -> Any:
        def work(mine: Sequence[int]) -> list[tuple[Rollout, ...]]:
            if spread.rank == 2:
                raise Stopped
            return [rollouts(item) for item in mine]

        return spread.over(range(5), work)

    assert [type(one) for one in together(3, task)] == [Stopped] * 3


def test_alone_an_error_keeps_its_own_words() -> None:
    def work(mine: Sequence[int]) -> list[tuple[Rollout, ...]]:
        raise RewardError("no verdict")

    with pytest.raises(RewardError, match="^no verdict$"):
        ALONE.over([1], work)
