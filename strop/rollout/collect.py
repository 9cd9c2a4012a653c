"""Sampling with refill: draw groups until the batch is full of groups with signal, and account for every one.

generated + carried_in = trained + all_right + all_wrong + errored + dropped + carried_out     (groups, and tokens)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from strop.errors import NotEnoughSignal
from strop.rollout.filter import Filter
from strop.types import Fate, Group

Draw = Callable[[range], Iterator[Group]]
"""Samples and scores the groups of these draws, in this order."""

FATES: tuple[Fate, ...] = ("trained", "all_right", "all_wrong", "errored", "dropped", "carried")


@dataclass(frozen=True, slots=True)
class Refill:
    """How a batch is filled. `prompts` groups train in a step; `max_draws` bounds the groups sampled for it.

    surplus     drop | carry       groups with signal beyond the batch: dropped and counted, or first in the next one
    staleness   steps              a carried group older than this is dropped and counted
    exhaustion  error | short      after max_draws: stop with NotEnoughSignal, or train the groups there are
    """

    prompts: int
    max_draws: int
    surplus: Literal["drop", "carry"] = "drop"
    max_staleness: int = 0
    exhaustion: Literal["error", "short"] = "error"


@dataclass(slots=True)
class Ledger:
    """Counts of one step, in groups and in tokens. `balanced` holds for every step of every run."""

    generated: list[int] = field(default_factory=lambda: [0, 0])
    carried_in: list[int] = field(default_factory=lambda: [0, 0])
    fates: dict[Fate, list[int]] = field(default_factory=lambda: {fate: [0, 0] for fate in FATES})
    rounds: int = 0

    def record(self) -> dict[str, int]:
        """The ledger's row: `trained` counts groups, `trained_tokens` tokens; `carried_out` is what is still held."""
        counts = {"generated": self.generated, "carried_in": self.carried_in}
        counts |= {"carried_out" if fate == "carried" else fate: count for fate, count in self.fates.items()}
        groups = {name: count[0] for name, count in counts.items()}
        return groups | {f"{name}_tokens": count[1] for name, count in counts.items()} | {"rounds": self.rounds}


def balanced(row: dict[str, int]) -> bool:
    """Whether a ledger row adds up, in groups and in tokens."""
    gone = ("trained", "all_right", "all_wrong", "errored", "dropped", "carried_out")
    return all(
        row["generated" + unit] + row["carried_in" + unit] == sum(row[name + unit] for name in gone)
        for unit in ("", "_tokens")
    )


@dataclass(frozen=True, slots=True)
class Collected:
    """A step's groups. `trained` are whole groups in submission order; `fates` tells of every group that was met."""

    trained: tuple[Group, ...]
    carried: tuple[Group, ...]
    generated: tuple[Group, ...]
    fates: tuple[tuple[Group, Fate], ...]
    cursor: int
    ledger: dict[str, int]


def collect(
    draw: Draw, *, cursor: int, version: int, refill: Refill, rule: Filter, carried: Sequence[Group] = ()
) -> Collected:
    """Groups for one step, drawn from `cursor` on, with the fate of each.

    Submission order: taking whoever finishes first would favour short answers.

    Raises:
        NotEnoughSignal: max_draws groups were drawn, too few have signal, and exhaustion is "error".
    """
    ledger = Ledger()
    fates: list[tuple[Group, Fate]] = []
    kept = fresh_enough(carried, version, refill, ledger, fates)
    held_over = len(kept)
    generated: list[Group] = []
    start = cursor
    while len(kept) < refill.prompts and cursor - start < refill.max_draws:
        size = round_size(refill, kept=len(kept), drawn=cursor - start, with_signal=len(kept) - held_over)
        ledger.rounds += 1
        for group in draw(range(cursor, cursor + size)):
            generated.append(group)
            count(ledger.generated, group)
            fate = rule.fate(group)
            if fate == "trained":
                kept.append(group)
            else:
                fates.append((group, fate))
        cursor += size
    if len(kept) < refill.prompts and (refill.exhaustion == "error" or not kept):
        raise NotEnoughSignal(exhausted(refill, len(kept), cursor - start, fates))
    trained, surplus = kept[: refill.prompts], kept[refill.prompts :]
    held = surplus if refill.surplus == "carry" else []
    fate_of_surplus: Fate = "carried" if refill.surplus == "carry" else "dropped"
    fates.extend((group, "trained") for group in trained)
    fates.extend((group, fate_of_surplus) for group in surplus)
    for group, fate in fates:
        count(ledger.fates[fate], group)
    return Collected(tuple(trained), tuple(held), tuple(generated), tuple(fates), cursor, ledger.record())


def fresh_enough(
    carried: Sequence[Group], version: int, refill: Refill, ledger: Ledger, fates: list[tuple[Group, Fate]]
) -> list[Group]:
    """The carried groups that are not too stale to train; the others are dropped, and counted."""
    kept: list[Group] = []
    for group in carried:
        count(ledger.carried_in, group)
        if version - group.rollouts[0].completion.version <= refill.max_staleness:
            kept.append(group)
        else:
            fates.append((group, "dropped"))
    return kept


def round_size(refill: Refill, *, kept: int, drawn: int, with_signal: int) -> int:
    """How many groups to draw next: enough to fill the batch at the keep rate seen in this step so far."""
    missing = refill.prompts - kept
    keep_rate = (with_signal + 1) / (drawn + 1)
    return min(math.ceil(missing / keep_rate), refill.prompts, refill.max_draws - drawn)


def count(counter: list[int], group: Group) -> None:
    counter[0] += 1
    counter[1] += group.tokens


def exhausted(refill: Refill, kept: int, drawn: int, fates: Sequence[tuple[Group, Fate]]) -> str:
    right = sum(fate == "all_right" for _, fate in fates)
    wrong = sum(fate == "all_wrong" for _, fate in fates)
    errored = sum(fate == "errored" for _, fate in fates)
    remedy = "Use harder prompts" if right > wrong else "Use easier prompts or a stronger model"
    if errored > right + wrong:
        remedy = "Mend the reward, which fails (strop reward test)"
    return (
        f"drew {drawn} groups (rollout.max_draws), {kept} of the {refill.prompts} needed had mixed scores; "
        f"{right} were all right, {wrong} all wrong{f', {errored} could not be scored' if errored else ''}. "
        + remedy
        + ", more rollout.completions, a larger rollout.max_draws, rollout.exhaustion: short, or rollout.filter: none"
    )
