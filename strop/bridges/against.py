"""One report: a peer's own loss code, run on one batch that was cut in several ways, beside strop's rows.

The gradient compared is that of one optimizer step by the log-prob of every token of the batch: it is all that a loss
has to say about a model. Of two gradients g (the peer's) and g* (the formula's, float64) three numbers are given:

    gradient_error   |g - g*| / |g*|        0: the same gradient
    cosine           <g, g*> / |g| |g*|     1: the same direction
    norm_ratio       |g| / |g*|             the same direction with another ratio: another learning rate
"""

from __future__ import annotations

import importlib
import math
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from strop.bridges.peers import demand

AGREES = 1e-6
"""The largest gradient error of the same formula: peers compute in float32."""

SOURCES = {"trl": "strop.bridges.against_trl", "verl": "strop.bridges.against_verl"}
"""The module of each peer: its `rows()` gives the report's rows."""


@dataclass(frozen=True, slots=True)
class Row:
    """One loss of the peer under one layout. `agrees_with` is the formula it has on the undivided batch, or "".

    The numbers compare it with that formula over the same optimizer batch; where there is none, with the formula that
    `note` names.
    """

    name: str
    layout: str
    agrees_with: str
    gradient_error: float
    cosine: float
    norm_ratio: float
    note: str = ""

    @property
    def same(self) -> bool:
        return self.gradient_error <= AGREES


@dataclass(frozen=True, slots=True)
class Report:
    """What a peer's losses compute. It has no verdict: a peer may mean another formula, and say so."""

    peer: str
    version: str
    rows: tuple[Row, ...]

    def as_json(self) -> dict[str, Any]:
        """{"peer", "version", "rows": [{"name", "layout", "agrees_with", "gradient_error", ..., "note", "same"}]}

        A number that is not finite is null: JSON has no other word for it.
        """
        rows = [{**asdict(row), "same": row.same} for row in self.rows]
        numbers = [{name: _finite(value) for name, value in row.items()} for row in rows]
        return {"peer": self.peer, "version": self.version, "rows": numbers}


def compare(peer: str) -> Report:
    """The report of an installed peer, named trl or verl.

    Raises:
        ConfigError: an unknown peer; one that is not installed, with the command that does; another version.
    """
    found = demand(peer)
    return Report(peer, found, tuple(importlib.import_module(SOURCES[peer]).rows()))


def measured(gradient: Tensor, exact: Tensor, *, name: str, layout: str, agrees_with: str, note: str = "") -> Row:
    """The report's row of two gradients of any one shape: the peer's, and the formula's.

    A formula without gradient (norm 0) has error 0 against another such, and inf against any other.
    """
    mine, right = gradient.detach().double().flatten(), exact.detach().double().flatten()
    norm, target = float(mine.norm()), float(right.norm())
    gap = float((mine - right).norm())
    if target == 0 or norm == 0:
        return Row(name, layout, agrees_with, _over(gap, target), math.nan, _over(norm, target), note)
    return Row(name, layout, agrees_with, gap / target, float(mine @ right) / (norm * target), norm / target, note)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _over(value: float, target: float) -> float:
    """value / target, where 0 / 0 is 0: nothing is no further from nothing."""
    if target == 0:
        return 0.0 if value == 0 else math.inf
    return value / target
