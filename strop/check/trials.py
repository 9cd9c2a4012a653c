"""What a check runs: rows and layouts on a case in one dtype, in this process and over ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import torch

from strop.algorithms import ROWS, Algorithm
from strop.check.cases import LONGEST, TOP, Case, few, hard
from strop.check.compare import BOUNDS, Errors, Line, errors_of
from strop.check.files import DTYPES, write_case, write_truth
from strop.check.layouts import Layout, few_over_ranks, narrow, one_process, over_ranks, without_work
from strop.check.oracle import Oracle, Tick, silent
from strop.check.ranks import Ranks
from strop.check.trial import Bench
from strop.config.load import load
from strop.config.schema import Config
from strop.errors import StropError

Plain = Mapping[str, Any]
"""A configuration as plain values: what says which row is meant, in every process."""
Task = dict[str, Any]
"""One layout to run over ranks, as plain values: see strop.check.worker."""
Runs = tuple[Sequence[Plain], Sequence[Layout]]
"""Every one of these rows under every one of these layouts."""

RANKED = ("dapo_prompt", "gspo", "grpo")
"""The rows of the table that are run over ranks when there is no configuration."""
ENTROPY, UNBIASED = {"kind": "entropy", "beta": 0.05}, {"kind": "kl", "beta": 0.05, "estimator": "unbiased"}
TOP_TV = {"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": TOP}
CHANGED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("dapo", {"regularizers": [ENTROPY, UNBIASED]}),
    ("grpo", {"correction": "token_truncate"}),
    ("dapo_prompt", {"correction": "sequence_mask"}),
    ("dppo_tv", {"trust": TOP_TV}),
)
"""Rows with choices that no row of the table has: gradients through the entropy, corrections, the top-K divergence."""

SMALL = 20_000_000
"""Weights up to which a user's model goes through every layout, and over ranks: each of them holds it three times."""

ROOM = 3.0
NONE: Runs = ((), ())


@dataclass
class Trials:
    """Rows under layouts in this process (`alone`), and rows under layouts over ranks (`ranked`).

    `bound` is the largest error that is rounding; 0 is that of the dtype.
    """

    oracle: Oracle
    case: Case
    dtype: str
    alone: Runs
    ranked: Runs = NONE
    bound: float = 0.0

    @property
    def runs(self) -> tuple[Runs, Runs]:
        return self.alone, self.ranked

    @cached_property
    def bench(self) -> Bench:
        """The case with its models in the dtype: in float64 the oracle's own, else those of the case.

        An optimizer takes the gradients of bfloat16 weights for itself, so that these are copies.
        """
        models = self.oracle.case.models if self.dtype == "float64" else self.case.models
        return Bench.of(self.case, models.to(torch.bfloat16) if self.dtype == "bfloat16" else models)

    def run_alone(self) -> Iterator[Line]:
        rows, layouts = self.alone
        layouts = self.bench.distinct(row_of(rows[0]), layouts) if rows else ()
        for plain, layout in product(rows, layouts):
            row = row_of(plain)
            found = self.bench.run(row, layout)
            yield self.line(plain, layout, errors_of(found.gradient, found.metrics, self.oracle.truth(row)))
        self.bench.optimizer.clear()  # the gradient of the last run is as large as the model

    def prepare(self, folder: Path) -> list[Task]:
        """What ranks are told, with the files that they read: the case, and the right answer of each row."""
        rows, layouts = self.ranked
        if not rows:
            return []
        write_case(folder, self.case)
        for plain in rows:
            write_truth(truth_file(folder, plain), self.oracle.truth(row_of(plain)))
        return [
            {
                "case": str(folder),
                "truth": str(truth_file(folder, plain)),
                "dtype": self.dtype,
                "config": plain,
                "layout": asdict(layout),
            }
            for plain, layout in product(rows, layouts)
        ]

    def run_over(self, ranks: Ranks, task: Task) -> Line:
        """The line of the rank that is furthest off."""
        layout, plain = Layout(**task["layout"]), task["config"]
        try:
            answers = ranks.run(task, layout.ranks)
        except StropError as error:
            raise StropError(f"{label(plain)}, {layout.label}, {layout.ranks} ranks: {error}") from error
        every = [Errors(**answer) for answer in answers]
        return self.line(plain, layout, max(every, key=lambda e: max(e.gradient_error, e.metric_error)))

    def line(self, plain: Plain, layout: Layout, errors: Errors) -> Line:
        return Line(label(plain), layout.label, self.dtype, layout.ranks, errors, self.bound or BOUNDS[self.dtype])


def truth_file(folder: Path, plain: Plain) -> Path:
    return folder / f"{label(plain)}.safetensors"


def label(plain: Plain) -> str:
    """The name of the row, with the choices that were changed: "dapo with entropy"."""
    changes = [value for value in plain.get("objective", {}).values() if isinstance(value, str | list | dict) and value]
    names = [kind(one) for value in changes for one in (value if isinstance(value, list) else [value])]
    return plain["algorithm"] + (f" with {', '.join(names)}" if names else "")


def kind(choice: Any) -> str:
    return choice if isinstance(choice, str) else f"{choice['kind']}"


def row_of(plain: Plain) -> Algorithm:
    return load(mapping=plain).row


def made_trials() -> list[Trials]:
    """Without a configuration: every row of the table, on made cases."""
    every = [made_row(name) for name in ROWS]
    changed = [made_row(name, **changes) for name, changes in CHANGED]
    ranked = [made_row(name) for name in RANKED]
    case, small = hard(), few()
    longest = case.longest
    return [
        trials_of(case, "float64", (every, one_process(longest)), (ranked, over_ranks(longest))),
        trials_of(small, "float64", NONE, (ranked, without_work(small.longest))),
        trials_of(case, "float32", (every, narrow(longest)), (ranked, few_over_ranks(longest))),
        trials_of(case, "float64", (changed, narrow(longest))),
        trials_of(case, "bfloat16", ([made_row("dapo")], narrow(longest))),
    ]


def made_row(name: str, **objective: Any) -> Plain:
    return {"algorithm": name, "rollout": {"max_tokens": LONGEST}, "objective": objective}


def real_trials(config: Config, case: Case, tick: Tick = silent) -> list[Trials]:
    """With one: its row on its own batch, in float64 and in the dtype that it trains in."""
    plain, longest = [config.dump()], case.longest
    oracle = Oracle(replace(case, models=case.models.to(torch.float64)), tick)
    small = weights_of(case) <= SMALL
    wide = one_process(longest) if small else narrow(longest)
    bound = rounding(oracle, case, config)
    return [
        Trials(oracle, case, "float64", (plain, wide), (plain, over_ranks(longest)) if small else NONE),
        Trials(
            oracle,
            case,
            config.train.dtype,
            (plain, narrow(longest)),
            (plain, few_over_ranks(longest)) if small else NONE,
            bound,
        ),
    ]


def rounding(oracle: Oracle, case: Case, config: Config) -> float:
    """The largest error that is rounding in the model's own dtype: ROOM times what that costs without any layout.

    A deep model amplifies the rounding of its every layer: 30 layers in float32 are 1e-4 off, sequence by sequence.
    """
    narrower = Oracle(case, oracle.tick).truth(config.row)
    errors = errors_of(narrower.gradient, narrower.metrics, oracle.truth(config.row))
    return max(BOUNDS[config.train.dtype], ROOM * errors.gradient_error, ROOM * errors.metric_error)


def weights_of(case: Case) -> int:
    return sum(weight.numel() for weight in case.models.policy.parameters())


def trials_of(case: Case, dtype: str, alone: Runs, ranked: Runs = NONE) -> Trials:
    """Trials of a case whose weights are rounded to the dtype first: the oracle's are the same, wider."""
    rounded = replace(case, models=case.models.to(DTYPES[dtype])) if dtype != "float64" else case
    return Trials(Oracle(replace(case, models=rounded.models.to(torch.float64))), rounded, dtype, alone, ranked)
