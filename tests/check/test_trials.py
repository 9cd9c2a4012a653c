from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from strop.algorithms import ROWS
from strop.check.compare import BOUNDS
from strop.check.layouts import Layout, narrow, one_process, over_ranks
from strop.check.ranks import Ranks
from strop.check.trials import (
    CHANGED,
    RANKED,
    ROOM,
    Trials,
    label,
    made_row,
    made_trials,
    real_trials,
    rounding,
    row_of,
    weights_of,
)
from strop.config.load import load
from strop.errors import StropError
from tests.check.beds import hard_case, oracle_of, trials


@cache
def made() -> list[Trials]:
    return made_trials()


def in_dtype(dtype: str) -> Trials:
    """The first of the made ones in that dtype."""
    return next(one for one in made() if one.dtype == dtype)


def test_without_a_configuration_every_row_of_the_table_is_run_and_three_over_ranks() -> None:
    first = in_dtype("float64")
    assert [plain["algorithm"] for plain in first.alone[0]] == list(ROWS)
    assert [plain["algorithm"] for plain in first.ranked[0]] == list(RANKED)
    assert len(RANKED) == 3
    assert len(first.alone[1]) >= 40
    assert first.ranked[1] == over_ranks(first.case.longest)


def test_every_row_is_run_in_float32_and_one_in_bfloat16() -> None:
    assert [plain["algorithm"] for plain in in_dtype("float32").alone[0]] == list(ROWS)
    assert [plain["algorithm"] for plain in in_dtype("bfloat16").alone[0]] == ["dapo"]


def test_there_is_a_batch_that_leaves_a_rank_without_work() -> None:
    [small] = [one for one in made() if one.case.name == "few"]
    assert {layout.ranks for layout in small.ranked[1]} == {4}
    assert len(small.case.live) < 4


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_the_oracle_has_the_very_weights_of_the_case_only_wider(dtype: str) -> None:
    trial = in_dtype(dtype)
    for wide, own in zip(trial.oracle.case.models, trial.case.models, strict=True):
        for one, other in zip(wide.parameters(), own.parameters(), strict=True):
            assert bool((one == other.double()).all())
    assert {str(w.dtype) for w in trial.bench.models.policy.parameters()} == {f"torch.{trial.dtype}"}


def test_a_row_is_called_by_its_name_and_what_was_changed() -> None:
    assert label(made_row("dapo")) == "dapo"
    assert [label(made_row(name, **changes)) for name, changes in CHANGED] == [
        "dapo with entropy, kl",
        "grpo with token_truncate",
        "dapo_prompt with sequence_mask",
        "dppo_tv with divergence",
    ]
    assert label(load(mapping={"objective": {"aggregation": "prompt", "length": 3}}).dump()) == "dapo with prompt"


@pytest.mark.parametrize(("name", "objective"), CHANGED)
def test_choices_that_no_row_has_hold_too(name: str, objective: dict[str, Any]) -> None:
    layouts = [Layout("three", size=3, rows=2), Layout("hollow", "budget", 60, masked="between")]
    lines = list(trials([dict(made_row(name, **objective))], layouts).run_alone())
    assert [line.ok for line in lines] == [True, True]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_in_a_narrower_dtype_a_layout_is_off_by_its_rounding(dtype: str) -> None:
    trial = in_dtype(dtype)
    one = Trials(trial.oracle, trial.case, dtype, ([made_row("dapo")], narrow(29)[:3]))
    for line in one.run_alone():
        assert line.ok
        assert BOUNDS["float64"] < line.errors.gradient_error < line.bound == BOUNDS[dtype]


def test_a_users_model_is_bounded_by_the_rounding_of_its_own_dtype() -> None:
    config = load(mapping={"algorithm": "grpo"})
    single, half = in_dtype("float32"), in_dtype("bfloat16")
    assert rounding(single.oracle, single.case, config) == BOUNDS["float32"]
    assert BOUNDS["float32"] * ROOM < rounding(oracle_of(), half.case, config)


def test_with_a_configuration_its_own_row_is_run_in_float64_and_in_its_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load(mapping={"algorithm": "gspo"})
    wide, own = real_trials(config, hard_case())
    assert [row_of(plain).name for plain in wide.alone[0]] == ["gspo"]
    assert (wide.dtype, own.dtype) == ("float64", "float32")
    assert wide.alone[1] == one_process(hard_case().longest)
    assert {layout.ranks for one in (wide, own) for layout in one.ranked[1]} == {1, 2, 4}
    monkeypatch.setattr("strop.check.trials.SMALL", weights_of(hard_case()) - 1)
    large = real_trials(config, hard_case())
    assert [one.ranked[0] for one in large] == [(), ()]
    assert [one.alone[1] for one in large] == [narrow(hard_case().longest)] * 2


class Answering(Ranks):
    """Ranks that are one list of answers, or an error."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = answers

    def run(self, task: dict[str, Any], ranks: int) -> list[dict[str, Any]]:
        if not self.answers:
            raise StropError("rank 1 ended with exit code -9")
        return list(self.answers[:ranks])


def test_of_several_ranks_the_one_that_is_furthest_off_counts(tmp_path: Path) -> None:
    layout = Layout("pairs", size=2, ranks=2, sharded=True)
    trial = Trials(oracle_of(), hard_case(), "float64", ([], []), ([made_row("grpo")], [layout]))
    [task] = trial.prepare(tmp_path / "case")
    right = {"gradient_error": 0.0, "worst_parameter": "a", "metric_error": 0.0, "worst_metric": ""}
    line = trial.run_over(Answering(right, {**right, "metric_error": 0.5}), task)
    assert (line.row, line.layout, line.ranks, line.ok) == ("grpo", "pairs, FSDP2", 2, False)
    assert line.errors.metric_error == 0.5
    with pytest.raises(StropError, match=r"^grpo, pairs, FSDP2, 2 ranks: rank 1 ended"):
        trial.run_over(Answering(), task)


def test_what_ranks_are_told_is_plain_and_its_files_are_there(tmp_path: Path) -> None:
    import json

    trial = Trials(oracle_of(), hard_case(), "float64", ([], []), ([made_row("grpo")], over_ranks(29)))
    tasks = trial.prepare(tmp_path / "case")
    assert len(tasks) == len(over_ranks(29))
    assert json.loads(json.dumps(tasks)) == tasks
    assert {Path(task["truth"]).is_file() for task in tasks} == {True}
    assert trials([], []).prepare(tmp_path / "nothing") == []
