from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strop.config.load import load
from strop.plan import plan as module
from strop.plan.plan import Plan, largest_fit, make, most_rows, most_tokens, probed, shown
from strop.plan.probe import Probe
from strop.plan.program import Program

MIB = 2**20


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is not started for each plan."""
    monkeypatch.setattr(module, "measured", lambda model, rank: Program(400 * MIB, 25 * MIB))


def planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, free: int = 2**40, **changes: Any) -> Plan:
    monkeypatch.setattr(module, "free_memory", lambda: free)
    return make(load(mapping={"model": "strop:tiny", "device": "cpu", "runs": str(tmp_path), **changes}))


def test_a_run_that_fits_is_not_refused_and_its_record_is_plain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = planned(monkeypatch, tmp_path)
    assert plan.refusal == ""
    record = json.loads(json.dumps(plan.record()))
    assert record["fits"] is True and record["time"] is None
    [memory] = record["memory"]
    training = sum(part["bytes"] for part in memory["parts"] if "training" in part["phases"])
    assert memory["totals"]["training"] == training == memory["peak"]
    assert record["batch"]["sequences"] == 64


def test_a_run_that_cannot_fit_is_refused_by_its_largest_part_with_a_value_that_fits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = planned(monkeypatch, tmp_path, free=600 * MIB)
    assert plan.refusal.startswith("training needs ")
    assert "of memory, and 600 MiB are free; the largest part is the program" in plan.refusal
    value = int(plan.refusal.rpartition("train.tokens_per_micro_batch ")[2].removesuffix(" fits"))
    assert value == largest_fit(plan, "train.tokens_per_micro_batch")
    again = planned(monkeypatch, tmp_path, free=600 * MIB, **{"train.tokens_per_micro_batch": value})
    assert again.refusal == ""


def test_rows_that_are_too_many_are_refused_by_their_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    many = {"rollout.rows": 4000, "eval.prompts": 4000, "train.tokens_per_micro_batch": 500}
    plan = planned(monkeypatch, tmp_path, free=900 * MIB, **many)
    assert "the largest part is the keys and values" in plan.refusal
    assert "lower rollout.rows; rollout.rows " in plan.refusal
    value = largest_fit(plan, "rollout.rows")
    assert planned(monkeypatch, tmp_path, free=900 * MIB, **{**many, "rollout.rows": value}).refusal == ""


def test_what_would_fit_too_does_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan = planned(monkeypatch, tmp_path, free=3000 * MIB)
    rows, tokens = most_rows(plan), most_tokens(plan)
    assert rows > 2000 and tokens > 20000
    larger = {"rollout.rows": rows, "eval.prompts": 20000, "train.tokens_per_micro_batch": tokens}
    there = planned(monkeypatch, tmp_path, free=3000 * MIB, **larger, **{"rollout.prompts": 1000, "train.updates": 1})
    assert there.memory[0].of("sampling") < 1.1 * 3000 * MIB
    assert 0.8 * 3000 * MIB < there.memory[0].of("training") < 1.1 * 3000 * MIB


def test_nothing_can_be_lowered_far_enough_for_a_machine_without_room_for_the_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusal = planned(monkeypatch, tmp_path, free=300 * MIB).refusal
    assert refusal.endswith("nothing makes it smaller: Python and its libraries take it")


def test_a_disk_that_is_too_small_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "free_disk", lambda folder: 10 * MIB)
    plan = planned(monkeypatch, tmp_path, **{"save.every": 1, "save.keep": 5})
    assert "6 checkpoints of 7 MiB among it, and 10 MiB are free there: lower save.keep" in plan.refusal


def test_keys_without_effect_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan = planned(monkeypatch, tmp_path, **{"train.parallel": "fsdp", "rollout.max_staleness": 3})
    assert len(plan.warnings) == 2
    assert any("train.parallel fsdp has no effect" in text for text in plan.warnings)


def test_after_a_probe_the_rollouts_are_those_that_it_wrote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = Probe(1, (2.0, 3.0), (1.0, 1.0), (300, 340), 0.5, 7, rollouts=1001)
    plan = probed(planned(monkeypatch, tmp_path), found)
    assert plan.disk.rollouts == 501
    assert plan.time and plan.time.low < plan.time.high


def test_a_gpu_and_its_host_are_looked_at_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "pick_device", lambda device: "cuda")
    monkeypatch.setattr(module, "free_gpu", lambda device: 100 * MIB)
    plan = planned(monkeypatch, tmp_path)
    assert [side.name for side in plan.memory] == ["GPU memory", "memory"]
    assert "of GPU memory, and 100 MiB are free; the largest part is the activations" in plan.refusal


@pytest.mark.parametrize(
    ("size", "text"),
    [(1000, "1 KiB"), (7.4 * MIB, "7 MiB"), (1.25 * 2**30, "1.2 GiB"), (3 * 2**40, "3.0 TiB")],
)
def test_sizes_are_shown_in_the_unit_that_suits(size: float, text: str) -> None:
    assert shown(size) == text
