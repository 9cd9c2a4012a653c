"""What a check runs: rows and layouts on a case in one dtype, in this process and over ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import torch

from strop.algorithms import ROWS, Algorithm
from strop.check.cases import LONGEST, Case, few, hard
from strop.check.compare import BOUNDS, Errors, Line, errors_of
from strop.check.files import DTYPES, write_case, write_truth
from strop.check.layouts import Layout, few_over_ranks, narrow, one_process, over_ranks, without_work
from strop.check.oracle import Oracle
from strop.check.ranks import Ranks
from strop.check.trial import Bench
from strop.config.load import load
from strop.config.schema import Config
from strop.errors import StropError

Plain = Mapping[str, Any]
"""A configuration as plain values: what says which row is meant, in every process."""
Runs = tuple[Sequence[Plain], Sequence[Layout]]
"""Every one of these rows under every one of these layouts."""

RANKED = ("dapo_prompt", "gspo", "grpo")
"""The rows of the table that are run over ranks when there is no configuration."""
SMALL = 20_000_000
"""Weights up to which a user's model is run over ranks too: each of them holds it whole, three times."""


@dataclass
class Trials:
    """Rows under layouts in this process (`alone`), and rows under layouts over ranks."""

    oracle: Oracle
    case: Case
    dtype: str
    alone: Runs
    ranked: Runs = ((), ())

    @cached_property
    def bench(self) -> Bench:
        """The case with its models in the dtype; in float64 they are the oracle's own."""
        models = self.oracle.case.models if self.dtype == "float64" else self.case.models.to(DTYPES[self.dtype])
        return Bench.of(self.case, models)

    def run_alone(self) -> Iterator[Line]:
        for plain in self.alone[0]:
            row = row_of(plain)
            for layout in self.bench.distinct(row, self.alone[1]):
                found = self.bench.run(row, layout)
                yield self.line(row, layout, errors_of(found.gradient, found.metrics, self.oracle.truth(row)))

    def run_over_ranks(self, ranks: Ranks) -> Iterator[Line]:
        folder = ranks.folder / f"{self.case.name.replace('/', '-')}-{self.dtype}"
        if self.ranked[0]:
            write_case(folder, self.case)
        for plain in self.ranked[0]:
            row = row_of(plain)
            write_truth(folder / f"{row.name}.safetensors", self.oracle.truth(row))
            task = {"case": str(folder), "truth": str(folder / f"{row.name}.safetensors")}
            for layout in self.ranked[1]:
                yield self.line(row, layout, self.over(ranks, {**task, "dtype": self.dtype, "config": plain}, layout))

    def over(self, ranks: Ranks, task: dict[str, Any], layout: Layout) -> Errors:
        """The errors of the rank that is furthest off."""
        try:
            answers = ranks.run({**task, "layout": asdict(layout)}, layout.ranks)
        except StropError as error:
            raise StropError(f"{task['config']['algorithm']}, {layout.label}, {layout.ranks} ranks: {error}") from error
        return max((Errors(**answer) for answer in answers), key=lambda e: max(e.gradient_error, e.metric_error))

    def line(self, row: Algorithm, layout: Layout, errors: Errors) -> Line:
        return Line(row.name, layout.label, self.dtype, layout.ranks, errors, BOUNDS[self.dtype])


def row_of(plain: Plain) -> Algorithm:
    return load(mapping=plain).row


def made_trials() -> list[Trials]:
    """Without a configuration: every row of the table, on made cases."""
    every: list[Plain] = [{"algorithm": name, "rollout": {"max_tokens": LONGEST}} for name in ROWS]
    ranked = [plain for plain in every if plain["algorithm"] in RANKED]
    first = [plain for plain in every if plain["algorithm"] == "dapo"]
    case, small = hard(), few()
    longest = case.longest
    return [
        trials_of(case, "float64", (every, one_process(longest)), (ranked, over_ranks(longest))),
        trials_of(small, "float64", (ranked, narrow(small.longest)), (ranked, without_work(small.longest))),
        trials_of(case, "float32", (every, narrow(longest)), (ranked, few_over_ranks(longest))),
        trials_of(case, "bfloat16", (first, narrow(longest))),
    ]


def real_trials(config: Config, case: Case) -> list[Trials]:
    """With one: its row on its own batch, in float64 and in the dtype that it trains in."""
    plain = [config.dump()]
    weights = sum(weight.numel() for weight in case.models.policy.parameters())
    ranked = plain if weights <= SMALL else []
    oracle = Oracle(replace(case, models=case.models.to(torch.float64)))
    longest = case.longest
    return [
        Trials(oracle, case, "float64", (plain, one_process(longest)), (ranked, over_ranks(longest))),
        Trials(oracle, case, config.train.dtype, (plain, narrow(longest))),
    ]


def trials_of(case: Case, dtype: str, *runs: Runs) -> Trials:
    """Trials of a case whose weights are rounded to the dtype first: the oracle's are the same, wider."""
    rounded = replace(case, models=case.models.to(DTYPES[dtype])) if dtype != "float64" else case
    return Trials(Oracle(replace(case, models=rounded.models.to(torch.float64))), rounded, dtype, *runs)
