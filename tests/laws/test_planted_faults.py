"""Each fault that trainers have had, planted in a shipped module, turns `strop check` red where it can be seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from strop.check.compare import Line
from strop.check.gradient import Plan
from strop.check.layouts import Layout
from strop.check.trials import Trials, made_row, row_of
from strop.watch import Watcher
from tests.check.beds import few_case, hard_case, lines_of, oracle_of
from tests.laws import faults

UNDIVIDED = {"all rows at once"}
RUN = 6
WIDEST = 21
"""Tokens of the longest completion of the made case that trains."""


def wrong(lines: dict[str, Line]) -> set[str]:
    return {name for name, line in lines.items() if not line.ok}


@pytest.mark.parametrize("name", ["dapo", "dapo_prompt", "dr_grpo"])
def test_without_a_fault_nothing_is_off(name: str) -> None:
    lines = lines_of(name)
    assert len(lines) == RUN
    assert wrong(lines) == set()


INSIDE_THE_LOOP = [
    (faults.mean_of_means, "dapo", {}),
    (faults.no_divisor, "dapo", {}),
    (faults.two_divisors, "dapo", {}),
    (faults.two_divisors, "gspo", {}),
    (faults.prompt_mean_inside, "dapo_prompt", {}),
    (faults.padded_width(WIDEST), "dr_grpo", {"length": WIDEST}),
]


@pytest.mark.parametrize(("plant", "name", "objective"), INSIDE_THE_LOOP)
def test_an_average_inside_the_loop_is_found_in_every_divided_layout_and_in_no_other(
    plant: Callable[..., None], name: str, objective: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch.setattr)
    lines = lines_of(name, **objective)
    assert wrong(lines) == lines.keys() - UNDIVIDED
    assert all(line.errors.gradient_error > 0.01 for name, line in lines.items() if name not in UNDIVIDED)


@pytest.mark.parametrize("plant", [faults.mask_above_only, faults.no_temperature])
@pytest.mark.parametrize("name", ["dapo_prompt", "grpo"])
def test_what_is_wrong_before_the_loop_is_found_in_every_layout(
    plant: Callable[..., None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layouts agree with each other here: only the oracle knows better."""
    plant(monkeypatch.setattr)
    lines = lines_of(name)
    assert wrong(lines) == lines.keys()
    assert all(line.errors.gradient_error > 0.01 for line in lines.values())


def test_a_mean_of_means_is_found_in_a_metric_too(monkeypatch: pytest.MonkeyPatch) -> None:
    faults.mean_of_metrics(monkeypatch.setattr)
    lines = lines_of("dapo")
    assert wrong(lines) == lines.keys()
    assert all(line.errors.gradient_error < line.bound < line.errors.metric_error for line in lines.values())


def test_a_hole_in_the_gradient_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weight that the optimizer does not hold gets no gradient: the oracle's has one."""
    from strop.check.trial import Bench

    original = Bench.gradient
    name = "model.norm.weight"
    monkeypatch.setattr(Bench, "gradient", lambda self: {k: v for k, v in original(self).items() if k != name})
    line = lines_of("dapo", [Layout("all rows at once")])["all rows at once"]
    assert (line.ok, line.errors.worst_parameter, line.errors.gradient_error) == (False, name, math.inf)


RANKS = [
    Layout("alone"),
    *(Layout("pairs", size=2, ranks=ranks, sharded=sharded) for ranks in (2, 4) for sharded in (False, True)),
]


def over_ranks(name: str, *, prepare: str = "") -> dict[tuple[str, int], bool]:
    """Whether each layout holds, by its label and ranks."""
    plain = made_row(name)
    trial = Trials(oracle_of(), hard_case(), "float64", ([plain], [Layout("alone")]), ([plain], RANKS))
    small = Trials(oracle_of("few"), few_case(), "float64", ([], []), ([plain], [Layout("three rows", ranks=4)]))
    plan = Plan((trial, small), row_of(plain), 30, {})
    report = plan.run(Watcher(), prepare=prepare)
    return {(line.layout, line.ranks): line.ok for line in report.lines if line.ranks > 1 or line.layout == "alone"}


@pytest.mark.xdist_group("ranks")
@pytest.mark.parametrize(
    ("prepare", "name"),
    [("average_over_ranks", "gspo"), ("counts_of_a_rank", "dapo_prompt")],
)
def test_a_fault_between_ranks_is_found_over_ranks_and_nowhere_else(prepare: str, name: str) -> None:
    found = over_ranks(name, prepare=f"tests.laws.faults:{prepare}")
    assert len(found) == len(RANKS) + 1
    assert {key for key, ok in found.items() if ok} == {("alone", 1)}


@pytest.mark.xdist_group("ranks")
def test_without_a_fault_nothing_is_off_over_ranks() -> None:
    assert set(over_ranks("grpo").values()) == {True}
