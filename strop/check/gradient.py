"""`strop check gradient`: one batch under every layout, each gradient and metric beside the oracle's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from strop.algorithms import Algorithm, algorithm
from strop.check.cases import LONGEST
from strop.check.compare import Line
from strop.check.means import Apart, means_apart
from strop.check.ranks import Ranks
from strop.check.real import bounded, real_case
from strop.check.trials import Runs, Trials, made_trials, real_trials
from strop.config.schema import Config
from strop.watch import Watcher


@dataclass(frozen=True, slots=True)
class Report:
    """A line for every row under every layout, and how far the means lie apart on the first case."""

    lines: tuple[Line, ...]
    means: tuple[Apart, ...]

    @property
    def ok(self) -> bool:
        return all(line.ok for line in self.lines)

    def record(self) -> dict[str, Any]:
        """The report as `strop check --json` prints it."""
        rows = [line.record() for line in self.lines]
        return {"rows": rows, "ok": self.ok, "means": [apart.record() for apart in self.means]}


def check_gradient(config: Config | None, watch: Watcher) -> Report:
    """Check the made batches, or one of the configuration.

    Raises:
        StropError: the batch cannot be made (see strop.check.real), or a process of the check ended.
    """
    if config is None:
        return report(made_trials(), watch, row=algorithm("dapo"), length=LONGEST)
    small = bounded(config)
    case = real_case(small, watch)
    trials = real_trials(small, case)
    return report(trials, watch, row=small.row, length=config.rollout.max_tokens)


def report(trials: Sequence[Trials], watch: Watcher, *, row: Algorithm, length: int, prepare: str = "") -> Report:
    """Run everything in this process, and then over ranks: they start meanwhile.

    `length` is what a constant mean divides by; `prepare` is for tests (see strop.check.worker).
    """
    lines: list[Line] = []
    size = max((layout.ranks for one in trials if one.ranked[0] for layout in one.ranked[1]), default=0)
    with TemporaryDirectory(prefix="strop-check-") as folder, Ranks(Path(folder), size, prepare=prepare) as ranks:
        alone = chain.from_iterable(one.run_alone() for one in trials)
        lines += told(alone, watch, "one process", sum(size_of(one.alone) for one in trials))
        together = chain.from_iterable(one.run_over_ranks(ranks) for one in trials)
        lines += told(together, watch, "over ranks", sum(size_of(one.ranked) for one in trials))
    return Report(tuple(lines), tuple(means_apart(trials[0].oracle, row, length)))


def size_of(runs: Runs) -> int:
    rows, layouts = runs
    return len(rows) * len(layouts)


def told(lines: Iterable[Line], watch: Watcher, phase: str, total: int) -> Iterator[Line]:
    """The lines, each of them told. Layouts that cut a batch alike are run once: there may be fewer than `total`."""
    done = 0
    for done, line in enumerate(lines, start=1):
        watch.progress(phase, done, total)
        yield line
    if done:
        watch.progress(phase, total, total)
