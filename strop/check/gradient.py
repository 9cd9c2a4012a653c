"""`strop check gradient`: one batch under every layout, each gradient and metric beside the oracle's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import torch

from strop.algorithms import Algorithm, algorithm
from strop.check.cases import LONGEST, Case
from strop.check.compare import Line
from strop.check.means import Apart, means_apart
from strop.check.ranks import Ranks
from strop.check.real import bounded, real_case
from strop.check.trials import SMALL, Trials, made_trials, real_trials, weights_of
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


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be run, the row and the constant length that the means are compared for, and `facts` to be shown."""

    trials: tuple[Trials, ...]
    row: Algorithm
    length: int
    facts: Mapping[str, str]

    def run(self, watch: Watcher, *, prepare: str = "") -> Report:
        """Everything, in this process and meanwhile over ranks. `prepare` is for tests: see strop.check.worker.

        Raises:
            StropError: a process of the check ended, or did not answer.
        """
        size = max((layout.ranks for one in self.trials for layout in one.ranked[1]), default=0)
        count = Count(watch, sum(len(rows) * len(layouts) for one in self.trials for rows, layouts in one.runs))
        with (
            one_thread() if size else nullcontext(),
            TemporaryDirectory(prefix="strop-check-") as folder,
            ThreadPoolExecutor(1) as thread,
            Ranks(Path(folder), size, prepare=prepare) as ranks,  # left first: what waits for its processes ends then
        ):
            tasks = [(one, t) for i, one in enumerate(self.trials) for t in one.prepare(Path(folder) / f"case-{i}")]
            together = thread.submit(lambda: [count.seen(one.run_over(ranks, task)) for one, task in tasks])
            lines = [count.seen(line) for one in self.trials for line in one.run_alone()]
            lines += together.result()
        return Report(tuple(lines), tuple(means_apart(self.trials[0].oracle, self.row, self.length)))


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for tensors: the models are small, and the other cores have the ranks."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(slots=True)
class Count:
    """How many lines there are so far, told to who watches: at most `total`, for layouts that are alike run once."""

    watch: Watcher
    total: int
    done: int = 0
    lock: Lock = field(default_factory=Lock)

    def seen(self, line: Line) -> Line:
        with self.lock:
            self.done += 1
            self.watch.progress("check", min(self.done, self.total), self.total)
        return line


def plan(config: Config | None, watch: Watcher) -> Plan:
    """What to run for a configuration, its batch sampled; or, without one, on the made batches.

    Raises:
        StropError: the batch cannot be made (see strop.check.real).
    """
    if config is None:
        trials = made_trials()
        facts = {"model": "a random Llama of 5,000 weights", "batch": described(trials[0].case)}
        return Plan(tuple(trials), algorithm("dapo"), LONGEST, facts)
    small = bounded(config)
    case = real_case(small, watch)
    facts = {"model": config.model, "sampled": shrunk(config, small), "batch": described(case)}
    if weights_of(case) > SMALL:
        facts["layouts"] = f"a few, in one process: the model has more than {SMALL // 10**6} million weights"
    return Plan(tuple(real_trials(small, case, watch.progress)), small.row, config.rollout.max_tokens, facts)


def described(case: Case) -> str:
    """'24 sequences in 7 groups, 18 of them train, on 112 tokens'."""
    rows = sum(len(group.rollouts) for group in case.first)
    tokens = sum(rollout.completion.tokens for _, _, rollout in case.live)
    which = f"the first of {case.updates} updates: " if case.updates > 1 else ""
    return f"{which}{rows} sequences in {len(case.first)} groups, {len(case.live)} of them train, on {tokens} tokens"


def shrunk(config: Config, small: Config) -> str:
    """What is sampled, and what the run would sample where that is more."""
    mine, whole = small.rollout, config.rollout
    sizes = [
        f"{r.prompts} prompts x {r.completions} completions of at most {r.max_tokens} tokens" for r in (mine, whole)
    ]
    return sizes[0] + (f" (the run: {sizes[1]})" if sizes[0] != sizes[1] else "")
