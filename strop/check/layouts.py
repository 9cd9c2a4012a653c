"""The layouts that a batch is checked under: every way in which a run may cut, order, pad and deal it.

A layout says what `batch.build` is given, how `batch.split` cuts what it made, and how the model runs. None may change
a gradient or a metric.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from strop.batch import split
from strop.batch.build import Batch
from strop.batch.split import MicroBatch
from strop.policy.step import Learner, Scored
from strop.types import Group

ALL = 10**9


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to lay a batch out.

    cut      budget: the shipped split, `size` tokens. rows: `size` sequences in their order; sorted: by length; mixed:
             a long one beside a short one; uneven: one by one on even ranks, all at once on odd ones
    rows     a seed that shuffles the sequences before the cut; 0 leaves them
    groups   a seed that shuffles the groups before the build; 0 leaves them
    masked   sequences without a live token: left out, kept among the others, or alone between any two micro-batches
    turned   rank r takes the share of rank r + 1
    """

    name: str
    cut: Literal["budget", "rows", "sorted", "mixed", "uneven"] = "rows"
    size: int = ALL
    rows: int = 0
    groups: int = 0
    masked: Literal["out", "kept", "between"] = "out"
    checkpointing: bool = False
    ranks: int = 1
    sharded: bool = False
    turned: bool = False

    @property
    def label(self) -> str:
        """The name, with what runs it if that is more than one process."""
        kind = "FSDP2" if self.sharded else "data parallel"
        return f"{self.name}, {kind}" if self.ranks > 1 else self.name

    def ordered(self, groups: Sequence[Group], first: int) -> list[Group]:
        """The groups as they are handed to the build: those of the first optimizer batch in another order."""
        mine = list(groups[:first])
        if self.groups:
            random.Random(self.groups).shuffle(mine)
        return [*mine, *groups[first:]]


def lay_out(learner: Learner, batch: Batch, layout: Layout) -> Scored:
    """The batch in the layout's micro-batches, as many on every rank."""
    if layout.cut == "budget":
        parts = list(replace(learner, tokens=layout.size).laid_out(batch).parts)
    else:
        parts = [split.pack(batch, rows) for rows in chunks(batch, layout, learner.mesh.rank)]
    if layout.masked == "between":
        parts = list(interleaved(parts, hollow(batch)))
    missing = learner.mesh.most(len(parts)) - len(parts)
    return Scored(batch, (*parts, *(split.idle() for _ in range(missing))))


def chunks(batch: Batch, layout: Layout, rank: int) -> list[list[int]]:
    """The sequences of each micro-batch."""
    kept = [s for s, live in enumerate(batch.live_S.tolist()) if live or layout.masked == "kept"]
    if layout.rows:
        random.Random(layout.rows).shuffle(kept)
    by_length = sorted(kept, key=lambda s: batch.ids_S[s].numel())
    orders: dict[str, Callable[[], Iterable[int]]] = {
        "sorted": lambda: by_length,
        "mixed": lambda: (by_length[i // 2] if i % 2 else by_length[-1 - i // 2] for i in range(len(by_length))),
    }
    order = list(orders.get(layout.cut, lambda: kept)())
    size = 1 if layout.cut == "uneven" and rank % 2 == 0 else min(layout.size, max(1, len(order)))
    return [order[i : i + size] for i in range(0, len(order), size)]


def hollow(batch: Batch) -> list[MicroBatch]:
    """Micro-batches without a live token: each masked sequence, and the idle one of a rank without work."""
    masked = [s for s, live in enumerate(batch.live_S.tolist()) if not live]
    return [*(split.pack(batch, [s]) for s in masked), split.idle()]


def interleaved(parts: Sequence[MicroBatch], between: Sequence[MicroBatch]) -> Iterator[MicroBatch]:
    """Before each part, and at the end, the next of `between`."""
    for i, part in enumerate(parts):
        yield between[i % len(between)]
        yield part
    yield between[len(parts) % len(between)]


def one_process(longest: int) -> list[Layout]:
    """Layouts of one process, for a batch whose longest sequence has so many tokens."""
    double = 2 * longest
    return [
        Layout("all rows at once"),
        *(Layout(f"micro-batches of {n}", size=n) for n in (1, 2, 3, 6)),
        *(Layout(f"budget of {n} tokens", "budget", n) for n in budgets(longest)),
        Layout("budget of any size", "budget", ALL),
        *(Layout(f"by length, {n} rows", "sorted", n) for n in (2, 3, 6)),
        *(Layout(f"long beside short, {n} rows", "mixed", n) for n in (2, 3, 6, 9)),
        *(Layout(f"shuffled ({seed}), {n} rows", size=n, rows=seed) for seed in (1, 2, 3) for n in (1, 2, 5)),
        *(Layout(f"groups shuffled ({seed}), {n} rows", size=n, groups=seed) for seed in (1, 2) for n in (1, 4)),
        *(Layout(f"groups shuffled ({seed}), budget", "budget", double, groups=seed) for seed in (1, 2)),
        *(Layout(f"zero-token micro-batches, {n} rows", size=n, masked="between") for n in (1, 3)),
        Layout("zero-token micro-batches, all at once", masked="between"),
        Layout("zero-token micro-batches, budget", "budget", double, masked="between"),
        *(Layout(f"masked rows kept, {n} rows", size=n, masked="kept") for n in (2, 5)),
        Layout("masked rows kept, all at once", masked="kept"),
        Layout("checkpointing, all rows at once", checkpointing=True),
        Layout("checkpointing, micro-batches of 1", size=1, checkpointing=True),
        Layout("checkpointing, budget", "budget", double, checkpointing=True),
        Layout("checkpointing, zero-token, shuffled", size=3, rows=4, masked="between", checkpointing=True),
    ]


def budgets(longest: int) -> list[int]:
    """Token budgets from one that every sequence breaks to one that holds several."""
    return [longest // 4, longest, longest * 3 // 2, 2 * longest, 3 * longest, 5 * longest]


def narrow(longest: int) -> list[Layout]:
    """The few that are run in a narrower dtype too."""
    kept = {"all rows at once", "micro-batches of 1", "micro-batches of 3", "shuffled (1), 2 rows"}
    kept |= {f"budget of {2 * longest} tokens", "long beside short, 6 rows", "zero-token micro-batches, 3 rows"}
    kept |= {"groups shuffled (1), 4 rows", "checkpointing, budget"}
    return [layout for layout in one_process(longest) if layout.name in kept]


def over_ranks(longest: int) -> list[Layout]:
    """Layouts over 1, 2 and 4 ranks, data parallel and FSDP2."""
    double = 2 * longest
    kinds = [
        Layout("all rows at once"),
        Layout("micro-batches of 1", size=1),
        Layout(f"budget of {double} tokens", "budget", double),
        Layout("long beside short, 3 rows", "mixed", 3),
        Layout("shuffled (1), 2 rows", size=2, rows=1),
        Layout("groups shuffled, shares turned", size=2, groups=1, turned=True),
        Layout("one by one beside all at once", "uneven"),
        Layout("zero-token micro-batches, 3 rows", size=3, masked="between"),
        Layout("checkpointing, budget", "budget", double, checkpointing=True),
    ]
    return [*kinds[:1], *(spread for kind in kinds for spread in every_way(kind))]


def few_over_ranks(longest: int) -> list[Layout]:
    """The few that are run over ranks in a narrower dtype too."""
    return list(every_way(Layout(f"budget of {2 * longest} tokens", "budget", 2 * longest)))


def without_work(longest: int) -> list[Layout]:
    """For a batch of three sequences: of four ranks, one has none."""
    kinds = [Layout("a rank without work"), Layout("a rank without work, budget", "budget", longest)]
    return [replace(kind, ranks=4, sharded=sharded) for sharded in (False, True) for kind in kinds]


def every_way(kind: Layout) -> Iterator[Layout]:
    for ranks in (2, 4):
        yield from (replace(kind, ranks=ranks, sharded=sharded) for sharded in (False, True))
