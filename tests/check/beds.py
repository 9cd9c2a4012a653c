"""The made case with its oracle, worked out once, and rows run under layouts in this process."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import torch

from strop.check.cases import Case, few, hard
from strop.check.compare import Line
from strop.check.layouts import Layout, narrow
from strop.check.oracle import Oracle
from strop.check.trials import Trials, made_row


@cache
def hard_case() -> Case:
    return hard()


@cache
def few_case() -> Case:
    return few()


@cache
def oracle_of(name: str = "hard") -> Oracle:
    case = hard_case() if name == "hard" else few_case()
    return Oracle(replace(case, models=case.models.to(torch.float64)))


def trials(rows: list[dict[str, Any]], layouts: list[Layout], *, dtype: str = "float64") -> Trials:
    return Trials(oracle_of(), hard_case(), dtype, (rows, layouts))


def lines_of(name: str, layouts: list[Layout] | None = None, **objective: Any) -> dict[str, Line]:
    """The line of each layout, by its name: six of them, if none are given."""
    rows = [dict(made_row(name, **objective))]
    some = layouts or [one for one in narrow(hard_case().longest) if one.size > 1 and not one.checkpointing][:6]
    return {line.layout: line for line in trials(rows, some).run_alone()}
