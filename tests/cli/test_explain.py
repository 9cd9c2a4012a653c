from __future__ import annotations

import json

import pytest

from strop.algorithms import ROWS
from strop.cli.explain import changed, parts
from strop.cli.main import run
from strop.errors import ConfigError


@pytest.mark.parametrize("name", ROWS)
def test_the_five_parts_stand_in_the_order_they_run_with_their_own_code(name: str) -> None:
    found = parts(ROWS[name])
    assert [part["choice"] for part in found][:4] == ["advantage", "aggregation", "ratio", "trust"]
    assert {part["choice"] for part in found[4:]} <= {"regularizers"}
    for part in found:
        assert part["file"].startswith("strop/objective/")
        assert "def __call__" in part["source"]
        assert part["line"] > 1


def test_a_row_is_explained_with_formula_source_and_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "grpo"]) == 0
    out = capsys.readouterr().out
    assert "loss  = sum_n w_n (l_n + kl_n)" in out
    assert ROWS["grpo"].source in out
    assert all(deviation in out for deviation in ROWS["grpo"].deviations)
    assert "class Clip" in out


@pytest.mark.parametrize(
    ("row", "functions"),
    [
        ("grpo", ["credit", "segment_mean", "bounded_exp", "_k3"]),
        ("dppo_tv", ["credit", "binary_tv", "_lengths"]),
        ("gspo", ["segment_mean", "segments"]),
        ("gmpo", ["segment_mean", "bounded_exp"]),
        ("vespo", ["segment_sum", "bounded_exp"]),
    ],
)
def test_the_functions_that_a_part_computes_with_are_printed_once(
    row: str, functions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", row]) == 0
    out = capsys.readouterr().out
    for function in functions:
        assert out.count(f"def {function}(") == 1


def test_changes_are_explained_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "dapo", "--objective.aggregation", "prompt", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["aggregation"] == {"kind": "prompt"}
    assert len(row["formula"]) == 5
    assert len(row["code"]) == 4


def test_a_correction_stands_between_the_trust_region_and_the_regularizers() -> None:
    row = changed("grpo", ["--objective.correction", "{kind: sequence_mask, mean: geometric, times: token}"])
    found = parts(row)
    assert [part["choice"] for part in found[3:]] == ["trust", "correction", "regularizers"]
    helpers = [helper["name"] for helper in found[4]["helpers"]]
    assert {"mismatch", "geometric_rho", "token_rho"} <= set(helpers) and "product_rho" not in helpers


def test_a_top_k_divergence_is_explained_with_its_buckets() -> None:
    trust = "{kind: divergence, measure: tv, low: 0.2, high: 0.2, topk: 20}"
    [part] = [part for part in parts(changed("dppo_tv", ["--objective.trust", trust])) if part["choice"] == "trust"]
    assert {"top_buckets", "top_tv"} <= {helper["name"] for helper in part["helpers"]}


@pytest.mark.parametrize(
    ("changes", "expected"), [(["--seed", "3"], "--seed: explain takes"), (["grpo"], "'grpo' is one too many")]
)
def test_explain_takes_one_row_and_its_changes(changes: list[str], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        changed("dapo", changes)
