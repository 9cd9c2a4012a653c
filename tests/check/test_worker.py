from __future__ import annotations

from dataclasses import asdict
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from strop.check import worker
from strop.check.files import write_case, write_truth
from strop.check.layouts import Layout
from strop.check.trials import made_row, row_of
from strop.check.worker import Rank
from tests.check.beds import hard_case, oracle_of


@pytest.fixture
def task(tmp_path: Path) -> dict[str, Any]:
    plain = made_row("gspo")
    write_case(tmp_path / "case", hard_case())
    write_truth(tmp_path / "gspo.safetensors", oracle_of().truth(row_of(plain)))
    files = {"case": str(tmp_path / "case"), "truth": str(tmp_path / "gspo.safetensors")}
    return {**files, "dtype": "float64", "config": plain, "layout": asdict(Layout("three", size=3))}


def test_a_rank_answers_with_the_errors_of_a_layout(task: dict[str, Any]) -> None:
    answer = Rank(0, {1: None}).answer(task)
    assert answer.keys() == {"gradient_error", "worst_parameter", "metric_error", "worst_metric"}
    assert max(answer["gradient_error"], answer["metric_error"]) < 1e-12
    assert answer["worst_parameter"] in oracle_of().truth(row_of(task["config"])).gradient


def test_a_rank_keeps_its_models_for_each_way_of_holding_them(task: dict[str, Any]) -> None:
    rank = Rank(0, {1: None})
    one = rank.bench(task["case"], "float64", Layout("one"))
    assert rank.bench(task["case"], "float64", Layout("another", size=2)) is one
    assert rank.bench(task["case"], "float32", Layout("one")) is not one


def test_what_goes_wrong_on_a_rank_is_its_answer(task: dict[str, Any]) -> None:
    answer = Rank(0, {1: None}).answer({**task, "config": {"algorithm": "dpao"}})
    assert "ConfigError" in answer["failed"]
    assert "did you mean dapo" in answer["failed"]


def test_a_rank_ends_when_the_check_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And it calls what it was told to prepare first."""
    monkeypatch.setattr(worker, "redirect", lambda folder, rank: None)
    monkeypatch.setattr(Rank, "join", lambda rank, size, folder, patience_s: Rank(rank, {1: None}))
    mine, theirs = Pipe()
    mine.close()
    worker.work(theirs, str(tmp_path), rank=0, size=1, patience_s=1.0, prepare="tests.check.test_worker:say")
    assert SAID == ["prepared"]


SAID: list[str] = []


def say() -> None:
    SAID.append("prepared")
