from __future__ import annotations

import inspect
import json
import re
from functools import cache

import pytest

from strop.bridges import against_trl
from strop.bridges.against import AGREES, Report, Row, compare
from strop.bridges.against_trl import BRIDGED, CUTS, FORMULAS, LOSSES, UNDIVIDED, batch, error
from tests.shape.source import ROOT

FOUND = {
    "grpo": "dapo with aggregation sequence",
    "grpo, beta 0.04": "grpo with kl estimator unbiased",
    "grpo, beta 0.04, use_bias_correction_kl False": "grpo",
    "grpo, importance_sampling_level sequence": "gspo",
    "bnpo": "dapo",
    "dr_grpo": "dr_grpo with trust clip 0.2/0.28",
    "dapo": "dapo",
    "dapo, epsilon_high not set": "dapo with trust clip 0.2/0.2",
    "dapo, importance_sampling_level sequence": "gspo with aggregation token",
    "cispo, epsilon_high 5": "cispo",
    "cispo, epsilon_high not set": "cispo with cap 0.2",
    "sapo": "sapo",
    "vespo": "vespo",
    "luspo, importance_sampling_level sequence": "luspo",
    "luspo": "luspo with ratio token",
}
GENERATION_COUNTED = tuple(name for name in LOSSES if name.split(",")[0] in ("dapo", "cispo", "vespo"))
ALIGNED = tuple(layout for layout in CUTS if not layout.startswith("steps"))


@cache
def report() -> Report:
    return compare("trl")


def the(name: str, layout: str) -> Row:
    [row] = [row for row in report().rows if (row.name, row.layout) == (name, layout)]
    return row


real = pytest.mark.peer("trl")


@real
def test_every_loss_type_of_trl_is_in_the_report() -> None:
    from trl import GRPOTrainer

    code = inspect.getsource(GRPOTrainer._compute_loss).splitlines()
    known = {name for line in code if "loss_type" in line for name in re.findall(r'"([a-z_]+)"', line)}
    assert known == {settings["loss_type"] for settings in LOSSES.values()}


@real
@pytest.mark.parametrize(("loss", "formula"), FOUND.items())
def test_every_loss_of_trl_is_one_row_on_the_undivided_batch(loss: str, formula: str) -> None:
    row = the(loss, UNDIVIDED)
    assert row.agrees_with == formula
    assert row.same


def test_no_two_formulas_are_the_same_on_the_batch() -> None:
    gradients = {name: against_trl.exact_gradient(row, batch()) for name, row in FORMULAS.items()}
    for name, gradient in gradients.items():
        others = [error(other, gradient) for kind, other in gradients.items() if kind != name]
        assert min(others) > 1000 * AGREES, name
    assert set(FOUND) == set(LOSSES)


@real
@pytest.mark.parametrize("loss", GENERATION_COUNTED)
def test_a_loss_that_counts_the_generation_batch_is_not_the_mean_over_the_window(loss: str) -> None:
    """huggingface/trl issue 5619. It is where the window is the generation batch, on one process or two."""
    for layout in ALIGNED:
        assert the(loss, layout).same
    for layout in set(CUTS) - set(ALIGNED):
        row = the(loss, layout)
        assert row.gradient_error > 0.05
        assert "generation batch" in row.note
    half = the(loss, "steps_per_generation 4, gradient_accumulation_steps 2")
    assert half.cosine == pytest.approx(1.0, abs=1e-12)
    assert abs(half.norm_ratio - 1) > 0.1


@real
def test_bnpo_is_another_gradient_for_every_split() -> None:
    errors = [the("bnpo", layout).gradient_error for layout in CUTS]
    assert min(errors) > 0.1
    assert len({round(error, 3) for error in errors}) == len(CUTS)


@real
@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "sapo", "luspo", "grpo, importance_sampling_level sequence"])
def test_means_over_completions_survive_every_split_but_count_masked_completions(loss: str) -> None:
    for layout in CUTS:
        assert the(loss, layout).same
    masked = the(loss, f"{UNDIVIDED}, 2 of 16 completions masked")
    assert masked.norm_ratio == pytest.approx(14 / 16, abs=1e-6)
    assert masked.cosine == pytest.approx(1.0, abs=1e-12)


@real
@pytest.mark.parametrize("layout", CUTS)
@pytest.mark.parametrize("row", BRIDGED)
def test_the_bridge_is_the_row_in_every_cut(row: str, layout: str) -> None:
    assert the(f"StropGRPOTrainer, {row}", layout).gradient_error < 1e-12


@real
def test_the_report_is_json_and_says_which_trl_it_is() -> None:
    told = json.loads(json.dumps(report().as_json(), allow_nan=False))
    assert told["version"].startswith("1.16")
    assert len(told["rows"]) == 2 * len(LOSSES) + len(LOSSES) * len(CUTS) + len(BRIDGED) * len(CUTS)


def cell(row: Row) -> str:
    return "exact" if row.same else f"{row.gradient_error:.1%}"


def table() -> list[str]:
    """The table of docs/bridges/trl.md, from the report."""
    masked = f"{UNDIVIDED}, 2 of 16 completions masked"
    lines = []
    for loss in LOSSES:
        cells = [cell(the(loss, layout)) for layout in (*CUTS, masked)]
        lines.append(f"| {loss} | {the(loss, UNDIVIDED).agrees_with} | {' | '.join(cells)} |")
    for name in BRIDGED:
        cells = [cell(the(f"StropGRPOTrainer, {name}", layout)) for layout in CUTS]
        lines.append(f"| StropGRPOTrainer, {name} | {name} | {' | '.join(cells)} | exact |")
    return lines


@real
def test_the_page_shows_the_report_that_is_measured() -> None:
    page = (ROOT / "docs" / "bridges" / "trl.md").read_text(encoding="utf-8")
    for line in table():
        assert line in page
