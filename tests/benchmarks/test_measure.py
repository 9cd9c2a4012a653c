"""A ratio of times is met only if its whole interval clears the target; what is compared computes one thing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks import machinery, measure
from benchmarks.measure import Result, compared

RESULTS = sorted((Path(__file__).parents[2] / "benchmarks" / "results").glob("*.json"))
KEYS = {"name", "ratio", "low", "high", "n", "better", "target", "met"}


@pytest.mark.parametrize(
    ("low", "high", "better", "met"),
    [(1, 2, "lower", True), (1, 4, "lower", False), (4, 5, "higher", True), (2, 5, "higher", False)],
)
def test_a_target_is_met_by_the_whole_interval(low: float, high: float, better: str, met: bool) -> None:
    assert Result("x", (low + high) / 2, low, high, 5, better, 3.0).met is met  # type: ignore[arg-type]


def test_programs_are_timed_in_turn_after_one_pair_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    ran: list[str] = []
    monkeypatch.setattr(measure.time, "perf_counter", lambda: next(clock))
    result = compared("x", lambda: ran.append("a"), lambda: ran.append("b"), target=1.0, n=5, scale=0.5)
    assert ran == ["a", "b"] * 6
    assert (result.ratio, result.low, result.high, result.n) == (0.5, 0.5, 0.5, 5)


def test_the_columns_hold_exactly_so_many_tokens_of_groups_of_eight() -> None:
    seq_N, prompt_S = machinery.columns(5000)
    assert seq_N.numel() == 5000
    assert torch.bincount(prompt_S).max() == machinery.GROUP


def test_losses_by_hand_are_those_of_the_rows_and_another_is_refused() -> None:
    leaf = torch.zeros(3, requires_grad=True)
    machinery.same((2 * leaf).sum(), (leaf + leaf).sum(), leaf)
    with pytest.raises(SystemExit, match="not the row's"):
        machinery.same((2 * leaf).sum(), (3 * leaf).sum(), leaf)


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.name)
def test_results_that_are_kept_have_the_stable_form(file: Path) -> None:
    for line in json.loads(file.read_text()):
        assert line.keys() == KEYS
        assert line["met"] == (
            (line["high"] <= line["target"]) if line["better"] == "lower" else line["low"] >= line["target"]
        )
