"""Work that is dealt to ranks: each does its share, and all end up with all results, in order.

A prompt's random streams are named by its draw, not by who samples it, so the ranks together sample what one process
would. What goes wrong on one rank goes wrong on all of them, with the same words: no rank waits for one that gave up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from strop import errors
from strop.errors import StropError
from strop.types import Completion, Rollout
from strop.watch import Stopped

Item = TypeVar("Item")
Scored = tuple[Rollout, ...]
"""The scored completions of one prompt."""


def by_itself(value: Any) -> list[Any]:
    return [value]


@dataclass(frozen=True, slots=True)
class Spread:
    """This rank among `ranks`; `exchange` gives every rank's value, made of what JSON holds, in rank order."""

    rank: int = 0
    ranks: int = 1
    exchange: Callable[[Any], list[Any]] = by_itself

    def over(self, items: Sequence[Item], work: Callable[[Sequence[Item]], Sequence[Scored]]) -> list[Scored]:
        """work(items), each rank doing every `ranks`-th item.

        Raises:
            StropError: what a rank's work raised; on every rank, the first one's.
            Stopped: Ctrl-C was pressed on some rank.
        """
        if self.ranks == 1:
            return list(work(items))
        outcomes = self.exchange(outcome(work, items[self.rank :: self.ranks], self.rank))
        if any("stopped" in found for found in outcomes):
            raise Stopped
        for found in outcomes:
            if "error" in found:
                raise getattr(errors, found["error"])(found["text"])
        return [unpacked(outcomes[i % self.ranks]["done"][i // self.ranks]) for i in range(len(items))]


ALONE = Spread()
"""One process."""


def outcome(work: Callable[[Sequence[Item]], Sequence[Scored]], items: Sequence[Item], rank: int) -> dict[str, Any]:
    """What became of a rank's share, as plain values."""
    try:
        return {"done": [packed(scored) for scored in work(items)]}
    except Stopped:
        return {"stopped": True}
    except StropError as error:
        known = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in vars(errors))
        return {"error": known, "text": f"{error} (on rank {rank})"}


def packed(rollouts: Scored) -> list[dict[str, Any]]:
    return [asdict(rollout) for rollout in rollouts]


def unpacked(rollouts: Sequence[dict[str, Any]]) -> Scored:
    return tuple(
        Rollout(**{**rollout, "completion": Completion(**tuples(rollout["completion"]))}) for rollout in rollouts
    )


def tuples(value: Any) -> Any:
    """The same with every list a tuple, as records hold them."""
    if isinstance(value, dict):
        return {key: tuples(one) for key, one in value.items()}
    return tuple(map(tuples, value)) if isinstance(value, list) else value
