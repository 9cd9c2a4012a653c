"""What the report says of the installed verl: run in its virtualenv, on its own code."""

from __future__ import annotations

import math

import pytest

from strop.bridges import against_verl
from strop.bridges.against import Report, Row, compare
from strop.bridges.against_verl import FOUR, IN_FOUR, MODES, ON_RANKS, RANKS, UNDIVIDED, WHOLE
from tests.shape.source import ROOT

pytestmark = pytest.mark.peer("verl")


@pytest.fixture(scope="module")
def report() -> Report:
    return compare("verl")


def one(report: Report, name: str, layout: str = UNDIVIDED) -> Row:
    [row] = [row for row in report.rows if (row.name, row.layout) == (name, layout)]
    return row


def test_every_layout_holds_every_completion_once() -> None:
    for layout in (WHOLE, FOUR, RANKS):
        assert sorted(i for rank in layout for rows in rank for i in rows) == list(range(16))


def test_every_loss_of_verl_is_in_the_report_and_named_once_for_each_layout(report: Report) -> None:
    assert (report.peer, report.version) == ("verl", "0.9.1")
    keys = [(row.name, row.layout) for row in report.rows]
    assert len(set(keys)) == len(keys)
    losses = against_verl.losses()
    assert {"vanilla", "gspo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean", "cispo", "dppo_tv", "dppo_kl"} <= set(
        losses
    )
    assert {row.name.split(",")[0] for row in report.rows if not row.name.startswith("strop_")} == set(losses)


@pytest.mark.parametrize(
    ("loss", "form"),
    [
        ("vanilla", "clip(0.2, 0.2, dual 3)"),
        ("dppo_tv", "divergence(tv, 0.2, cap 3) against old"),
        ("dppo_kl", "divergence(kl, 0.2, cap 3) against old"),
        ("gspo", "sequence_token ratio, clip(0.2, 0.2)"),
        ("gpg", "ratio 1, open"),
        ("dro", "ratio 1, open, kl(0.5, k2) to old"),
        ("bypass_mode", "clip(0.2, 0.2, dual 3)"),
    ],
)
def test_a_loss_is_found_with_the_mean_of_each_loss_agg_mode(report: Report, loss: str, form: str) -> None:
    means = ("token", "sum over tokens", "constant(1)", "sequence", "constant(12)")
    for mode, mean in zip(MODES, means, strict=True):
        row = one(report, f"{loss}, {mode}")
        assert row.agrees_with == f"{form} / {mean}"
        assert row.gradient_error < 1e-9


@pytest.mark.parametrize(("loss", "formula"), [("sapo", "gate(1, 1.05)"), ("geo_mean", "geometric(0.2, 0.2)")])
def test_two_losses_take_the_sequence_mean_whatever_was_asked(report: Report, loss: str, formula: str) -> None:
    # https://github.com/verl-project/verl/blob/1dda039b9c6311889a9c9a26040677e1254814f9/verl/trainer/ppo/core_algos.py#L1545
    row = one(report, f"{loss}, every loss_agg_mode")
    assert row.agrees_with == f"{formula} / sequence"
    assert row.gradient_error < 1e-9


def test_told_the_counts_of_the_batch_every_mean_is_the_batchs(report: Report) -> None:
    for mode in MODES:
        for layout in (IN_FOUR, ON_RANKS):
            assert one(report, f"vanilla, {mode}", layout).gradient_error < 1e-9


def test_a_geometric_mean_grows_with_the_micro_batches(report: Report) -> None:
    # https://github.com/verl-project/verl/issues/7913
    assert one(report, "geo_mean, token-mean", IN_FOUR).norm_ratio == pytest.approx(4, abs=1e-9)
    assert one(report, "geo_mean, token-mean", ON_RANKS).norm_ratio == pytest.approx(2, abs=1e-9)


def test_without_the_counts_a_mean_is_the_micro_batchs(report: Report) -> None:
    # https://github.com/verl-project/verl/issues/7321
    rows = {mode: one(report, f"vanilla, {mode}", f"{IN_FOUR}, no counts") for mode in MODES}
    assert rows["token-sum"].gradient_error < 1e-9
    assert rows["token-mean"].cosine < 0.999
    assert rows["seq-mean-token-mean"].norm_ratio == pytest.approx(4, abs=1e-9)


def test_without_a_factor_the_constant_is_the_padded_width_of_each_micro_batch(report: Report) -> None:
    # https://github.com/verl-project/verl/pull/5366
    assert one(report, "vanilla, no loss_scale_factor").gradient_error < 1e-9
    assert one(report, "vanilla, no loss_scale_factor", IN_FOUR).cosine < 0.999


def test_dual_clip_is_on_unless_it_is_set_out_of_reach(report: Report) -> None:
    assert one(report, "vanilla, clip_ratio_c at its default").gradient_error > 0.1
    assert one(report, "vanilla, clip_ratio_c 1e9").agrees_with == "clip(0.2, 0.2) / token"


def test_rows_without_a_token_are_divided_by(report: Report) -> None:
    for mode in MODES:
        row = one(report, f"vanilla, {mode}, 2 rows masked")
        share = 14 / 16 if mode.startswith("seq-mean") else 1
        assert row.norm_ratio == pytest.approx(share, abs=1e-9)
        assert row.cosine == pytest.approx(1, abs=1e-12)


def test_a_masked_nan_reaches_the_loss_of_the_sequence_modes(report: Report) -> None:
    # https://github.com/verl-project/verl/pull/6349
    assert one(report, "vanilla, token-mean, one NaN masked").note.startswith("the loss is 0.")
    assert one(report, "vanilla, seq-mean-token-mean, one NaN masked").note.startswith("the loss is nan")
    assert one(report, "gspo, token-mean, one NaN masked").gradient_error > 0.01


def test_cispo_is_two_sided_until_its_lower_bound_is_opened(report: Report) -> None:
    assert one(report, "cispo, token-mean").gradient_error > 0.1
    assert one(report, "cispo, clip_ratio_low 1, clip_ratio_high 4").agrees_with == "truncate(5) / token"


def test_losses_that_depend_on_the_micro_batch_say_that_they_are_no_row(report: Report) -> None:
    for loss in ("clip_cov", "kl_cov"):
        row = one(report, f"{loss}, token-mean", IN_FOUR)
        assert row.agrees_with == ""
        assert row.note.startswith("no row: ")
        assert not math.isclose(row.gradient_error, one(report, f"{loss}, token-mean").gradient_error, rel_tol=0.1)


def test_strops_rows_inside_verl_have_strops_gradient(report: Report) -> None:
    rows = [row for row in report.rows if row.name.startswith("strop_")]
    assert len(rows) == 10
    for row in rows:
        assert row.agrees_with == f"strop's {row.name.split(',')[0].removeprefix('strop_')}"
        assert row.gradient_error < (1e-6 if "prompt" in row.name else 1e-9)


def test_the_page_says_what_was_measured(report: Report) -> None:
    text = (ROOT / "docs" / "bridges" / "verl.md").read_text(encoding="utf-8")
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")
    ]
    measured = [cells for cells in lines if len(cells) == 5]
    assert len(measured) == 8
    for name, layout, _, norm, cosine in measured:
        row = one(report, name.strip("`"), layout)
        assert (f"{row.norm_ratio:.3f}", f"{row.cosine:.3f}") == (norm, cosine), name
