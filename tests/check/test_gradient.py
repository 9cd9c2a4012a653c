from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from strop.check.compare import Errors, Line
from strop.check.gradient import Plan, Report, described, one_thread, plan, shrunk
from strop.check.layouts import Layout
from strop.check.means import Apart
from strop.check.real import bounded
from strop.check.trials import Trials, made_row, row_of
from strop.config.load import load
from strop.watch import Watcher
from tests.check.beds import hard_case, oracle_of
from tests.laws import faults

KEYS = ["row", "layout", "dtype", "ranks", "gradient_error", "worst_parameter", "metric_error", "ok"]


def small_plan() -> Plan:
    plain = made_row("dapo")
    layouts = [Layout("all rows at once"), Layout("twos", size=2), Layout("the same again", size=2)]
    trial = Trials(oracle_of(), hard_case(), "float64", ([plain], layouts))
    return Plan((trial,), row_of(plain), 30, {"batch": described(hard_case())})


def test_beside_ranks_tensors_have_one_thread_and_afterwards_as_many_as_before() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


class Heard(Watcher):
    def __init__(self) -> None:
        self.told: list[tuple[str, int, int]] = []

    def progress(self, phase: str, done: int, total: int) -> None:
        self.told.append((phase, done, total))


def test_a_report_has_a_line_for_every_layout_that_differs_and_tells_how_far_it_is() -> None:
    heard = Heard()
    report = small_plan().run(heard)
    assert [line.layout for line in report.lines] == ["all rows at once", "twos"]
    assert report.ok
    assert heard.told == [("check", 1, 3), ("check", 2, 3)]
    assert [apart.mean for apart in report.means] == ["token", "prompt", "sequence", "constant"]


def test_the_report_as_json_has_exactly_these_keys() -> None:
    record = small_plan().run(Watcher()).record()
    assert json.loads(json.dumps(record)) == record
    assert list(record) == ["rows", "ok", "means"]
    assert [list(row) for row in record["rows"]] == [KEYS, KEYS]
    assert list(record["means"][0]) == ["row", "mean", "cosine", "norm_ratio"]
    assert record["ok"] is True


def test_one_line_that_is_off_turns_the_report_red(monkeypatch: pytest.MonkeyPatch) -> None:
    faults.mean_of_means(monkeypatch.setattr)
    report = small_plan().run(Watcher())
    assert [(line.layout, line.ok) for line in report.lines] == [("all rows at once", True), ("twos", False)]
    assert not report.ok
    assert report.record()["ok"] is False


def test_no_line_is_ok_by_itself() -> None:
    line = Line("dapo", "all", "float64", 1, Errors(1.0, "w", 0.0, ""), 1e-12)
    assert not Report((line,), (Apart("dapo", "token", 1.0, 1.0),)).ok


def test_a_batch_and_what_was_left_out_of_it_in_words() -> None:
    assert described(hard_case()) == "24 sequences in 7 groups, 18 of them train, on 112 tokens"
    config = load(mapping={"rollout": {"prompts": 64, "completions": 16, "max_tokens": 2048}, "train": {"updates": 1}})
    assert shrunk(config, bounded(config)) == (
        "4 prompts x 8 completions of at most 256 tokens (the run: 64 prompts x 16 completions of at most 2048 tokens)"
    )
    assert shrunk(bounded(config), bounded(config)) == "4 prompts x 8 completions of at most 256 tokens"


def tiny(**changes: Any) -> Any:
    settings: dict[str, Any] = {"rollout": {"prompts": 2, "completions": 4}, "train": {"updates": 1}, "device": "cpu"}
    return load(mapping={**settings, **changes})


def test_a_plan_for_a_configuration_is_its_own_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = {"strop:tiny": replace(hard_case(), name="strop:tiny")}
    monkeypatch.setattr("strop.check.gradient.real_case", lambda config, watch: cases[config.model])
    made = plan(tiny(algorithm="scalerl"), Watcher())
    assert made.row.name == "scalerl"
    assert made.length == 64
    assert made.facts["model"] == "strop:tiny"
    assert [one.dtype for one in made.trials] == ["float64", "float32"]
    monkeypatch.setattr("strop.check.gradient.SMALL", 1000)
    assert "in one process" in plan(tiny(), Watcher()).facts["layouts"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_users_configuration_holds_under_every_layout() -> None:
    report = plan(tiny(algorithm="grpo", train={"updates": 2, "gradient_checkpointing": True}), Watcher()).run(
        Watcher()
    )
    assert report.ok
    assert {line.ranks for line in report.lines} == {1, 2, 4}
    assert {line.dtype for line in report.lines} == {"float64", "float32"}


@pytest.mark.xdist_group("ranks")
@pytest.mark.timeout(900)
def test_without_a_configuration_every_row_holds_under_forty_layouts_and_three_over_ranks() -> None:
    from strop.algorithms import ROWS

    report = plan(None, Watcher()).run(Watcher())
    assert report.ok
    alone = {(line.row, line.layout) for line in report.lines if line.ranks == 1 and line.dtype == "float64"}
    for name in ROWS:
        assert len({layout for row, layout in alone if row == name}) >= 40
    ranked = {(line.row, line.ranks) for line in report.lines if line.ranks > 1 and line.dtype == "float64"}
    assert ranked == {(row, ranks) for row in ("dapo_prompt", "gspo", "grpo") for ranks in (2, 4)}
    worst = max(max(line.errors.gradient_error, line.errors.metric_error) / line.bound for line in report.lines)
    assert worst < 1
