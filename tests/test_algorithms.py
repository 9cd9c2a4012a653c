"""The table of rows, with exactly the parameters of their sources; and rows with changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import strop
from strop.algorithms import KINDS, ROWS, Algorithm, algorithm, filled
from strop.errors import ConfigError
from strop.objective.advantage import BatchStandardized, Centered, LeaveOneOut, Standardized
from strop.objective.aggregation import Constant, PromptMean, SequenceMean, TokenMean
from strop.objective.correction import TokenMask, TokenTruncate
from strop.objective.ratio import SequenceProductRatio, SequenceRatio, SequenceTokenRatio, TokenRatio
from strop.objective.regularizer import Kl
from strop.objective.trust import Clip, Divergence, Gamma, Gate, Geometric, Open, Truncate
from tests.laws.batches import random_batch
from tests.objective.twins import BOTH, Twin, close

Z, OLD, SAMPLER = Standardized(1, 1e-6), TokenRatio("old"), TokenRatio("sampler")

TABLE = {
    "dapo": (Z, OLD, Clip(0.2, 0.28, math.inf), TokenMean(), ()),
    "dapo_prompt": (Z, OLD, Clip(0.2, 0.28, math.inf), PromptMean(), ()),
    "grpo": (Z, OLD, Clip(0.2, 0.2), SequenceMean(), (Kl(0.04, "k3"),)),
    "dr_grpo": (Centered(), OLD, Clip(0.2, 0.2), Constant(), ()),
    "gspo": (Z, SequenceRatio("old"), Clip(3e-4, 4e-4), SequenceMean(), ()),
    "gspo_token": (Z, SequenceTokenRatio("old"), Clip(3e-4, 4e-4), SequenceMean(), ()),
    "dppo_tv": (Centered(), SAMPLER, Divergence("tv", 0.2, 0.2, math.inf), Constant(), ()),
    "dppo_kl": (Centered(), SAMPLER, Divergence("kl", 0.05, 0.05, math.inf), Constant(), ()),
    "cispo": (Z, OLD, Truncate(5.0), TokenMean(), ()),
    "scalerl": (BatchStandardized(), SAMPLER, Truncate(5.0), PromptMean(), ()),
    "sapo": (Z, OLD, Gate(1.0, 1.05), SequenceMean(), ()),
    "luspo": (Z, SequenceRatio("old"), Clip(2e-3, 2.5e-3), Constant(1), ()),
    "vespo": (Z, SequenceProductRatio("old"), Gamma(2.0, 3.0, 3.0, 2.0), TokenMean(), ()),
    "gmpo": (Z, OLD, Geometric(0.4, 0.4), SequenceMean(), ()),
    "rloo": (LeaveOneOut(), OLD, Open(), Constant(1), ()),
}


def choices(row: Algorithm) -> tuple[object, ...]:
    return row.advantage, row.ratio, row.trust, row.aggregation, row.regularizers


@pytest.mark.parametrize("name", list(TABLE))
def test_a_row_has_exactly_the_parameters_of_its_source(name: str) -> None:
    assert choices(algorithm(name)) == TABLE[name]


def test_every_row_is_in_the_table_above_under_its_own_name() -> None:
    assert set(TABLE) <= set(ROWS)
    assert all(row.correction is None for row in ROWS.values())
    assert all(row.name == name for name, row in ROWS.items())


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_a_row_names_its_source_and_every_deviation(row: Algorithm) -> None:
    assert "arXiv " in row.source and row.summary
    assert isinstance(row.deviations, tuple) and all(len(deviation) > 20 for deviation in row.deviations)


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_every_choice_of_a_row_is_a_kind_of_the_tables(row: Algorithm) -> None:
    for choice in ("advantage", "ratio", "trust", "aggregation"):
        assert KINDS[choice][getattr(row, choice).kind] is type(getattr(row, choice))
    assert all(KINDS["regularizers"][one.kind] is type(one) for one in row.regularizers)


def test_dapo_with_another_mean_is_dapo_prompt() -> None:
    assert choices(algorithm("dapo", aggregation="prompt")) == choices(algorithm("dapo_prompt"))


def test_gspo_with_another_ratio_is_gspo_token() -> None:
    assert choices(algorithm("gspo", ratio="sequence_token")) == choices(algorithm("gspo_token"))


def test_a_choice_left_empty_is_the_rows_own() -> None:
    kept = algorithm("grpo", advantage="", ratio="", trust="", aggregation="", regularizers="", length=None)
    assert kept == ROWS["grpo"]
    assert algorithm("grpo", regularizers=[]).regularizers == algorithm("grpo", regularizers="none").regularizers == ()


def test_an_unknown_row_gets_the_nearest() -> None:
    with pytest.raises(ConfigError, match="unknown algorithm 'dapoo'; did you mean dapo"):
        algorithm("dapoo")
    with pytest.raises(ConfigError, match="unknown algorithm 'xyz'; use dapo, dapo_prompt, grpo"):
        algorithm("xyz")


def test_length_is_the_divisor_of_a_constant_mean_and_means_nothing_to_others() -> None:
    assert algorithm("dr_grpo", length=64).aggregation == Constant(64)
    assert algorithm("rloo", length=64).aggregation == Constant(64)
    assert algorithm("dapo", aggregation="constant", length=8).aggregation == Constant(8)
    assert algorithm("dapo", length=64) == ROWS["dapo"]


def test_a_trainer_fills_in_only_a_length_that_is_missing() -> None:
    assert filled(ROWS["dr_grpo"], 64).aggregation == Constant(64)
    assert filled(ROWS["rloo"], 64) is ROWS["rloo"]
    assert filled(ROWS["dapo"], 64) is ROWS["dapo"]


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        ROWS["mine"] = ROWS["dapo"]  # type: ignore[index]


def test_rows_are_told_apart_by_their_choices_alone() -> None:
    """A row renamed is the same algorithm: nothing asks what it is called."""
    from dataclasses import replace

    logp = torch.linspace(-2, -0.1, 6, dtype=torch.float64).reshape(2, 3)
    batch = {"logp": logp, "old_logp": logp - 0.3, "ref_logp": logp - 0.2, "sampler_logp": logp + 0.01}
    batch |= {"advantage": torch.tensor([1.0, -1.0]), "mask": torch.ones(2, 3), "group": torch.tensor([0, 0])}
    for name in ROWS:
        row = filled(ROWS[name], 5)
        renamed = strop.policy_loss(replace(row, name="anything"), **batch)
        assert renamed.value == strop.policy_loss(row, **batch).value


@BOTH
def test_vespo_weighs_a_whole_completion_by_the_product_of_its_ratios(twin: Twin) -> None:
    """Two completions, w = 1.5 and w = 0.5; weights are 1 / 5."""
    gap = np.log([[1.25, 1.2, 1.0], [0.8, 0.625, 1.0]])
    batch = {"logp": np.full((2, 3), -1.5), "old_logp": -1.5 - gap, "mask": [[1, 1, 1], [1, 1, 0]], "group": [0, 0]}
    out = twin.policy_loss(algorithm("vespo"), **batch, advantage=[2.0, -1.0])
    up, down = 1.5**2 * math.exp(-1.5), 0.5**3 * math.exp(1.0)
    close(out.gradient * 5, [[-2 * up] * 3, [down, down, 0]])
    close(out.value * 5, 3 * 1.5 * 2 * up - 2 * 1.5 * down)
    close((out.metrics["ratio/max"].mean, out.metrics["ratio/min"].mean), (1.5, 0.5))
    assert (out.metrics["clip_high"].total, out.metrics["clip_low"].total) == (0, 2)  # 0.502 and 0.340


@BOTH
def test_gmpo_clips_each_token_before_the_geometric_mean(twin: Twin) -> None:
    """A > 0: 0.9 is cut to 0.4, -0.9 stays; A < 0 the other way round. What is cut has no gradient of its own."""
    gap = np.array([[0.9, -0.9, 0.2], [0.9, -0.9, 0.2]])
    batch = {"logp": np.full((2, 3), -2.0), "old_logp": -2.0 - gap, "mask": np.ones((2, 3)), "group": [0, 0]}
    out = twin.policy_loss(algorithm("gmpo"), **batch, advantage=[1.0, -3.0])
    up, down = math.exp((0.4 - 0.9 + 0.2) / 3), math.exp((0.9 - 0.4 + 0.2) / 3)
    close(out.value, (-up + 3 * down) / 2)
    close(out.gradient * 6, [[0, -up, -up], [3 * down, 0, 3 * down]])
    close((out.metrics["clip_high"].mean, out.metrics["clip_low"].mean), (1 / 6, 1 / 6))


@BOTH
def test_gmpo_differs_from_gspo_in_where_it_clips(twin: Twin) -> None:
    """A token far out, and one as far on the other side: the sequence ratio is 1, the clipped mean is not."""
    gap = np.array([[1.0, -1.0]])
    batch = {"logp": np.full((1, 2), -2.0), "old_logp": -2.0 - gap, "mask": [[1, 1]], "group": [0], "advantage": [1.0]}
    close(twin.policy_loss(algorithm("gspo"), **batch).value, -1.0)
    close(twin.policy_loss(algorithm("gmpo"), **batch).value, -math.exp(-0.3))


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_a_geometric_mean_without_bounds_is_the_sequence_ratio_without_a_clip(twin: Twin, seed: int) -> None:
    wide = {"kind": "geometric", "low": math.inf, "high": math.inf}
    free = algorithm("gspo", trust="open")
    ours, theirs = (twin.policy_loss(row, **random_batch(seed)) for row in (algorithm("gmpo", trust=wide), free))
    close(ours.value, theirs.value)
    close(ours.gradient, theirs.gradient)


@BOTH
def test_verls_mean_advantage_of_a_completion_has_gmpos_value(twin: Twin) -> None:
    """Advantages of one sign that differ inside a completion: the mean of -A_t s is -mean(A) s."""
    batch = random_batch(2)
    by_token = np.abs(np.random.default_rng(0).standard_normal((12, 9)))
    live = batch["mask"] == 1
    mean = np.array([row[on].mean() if on.any() else 0.0 for row, on in zip(by_token, live, strict=True)])
    found, flat = (twin.policy_loss(algorithm("gmpo"), **{**batch, "advantage": A}) for A in (by_token, mean))
    close(found.value, flat.value)
    close(found.gradient, flat.gradient)


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_luspo_is_the_mean_over_completions_of_length_times_the_sequence_loss(twin: Twin, seed: int) -> None:
    batch = random_batch(seed, spread=2e-3)
    live = batch["mask"] == 1
    lengths, rows = live.sum(1), range(1, 12)
    mean = [float((batch["logp"] - batch["old_logp"])[i][live[i]].mean()) for i in rows]
    s, A = np.exp(mean), batch["advantage"][1:]
    losses = -np.minimum(s * A, np.clip(s, 1 - 2e-3, 1 + 2.5e-3) * A)
    close(twin.policy_loss(algorithm("luspo"), **batch).value, (lengths[1:] * losses).mean())
    flat = twin.policy_loss(algorithm("luspo", aggregation="token"), **batch)
    close(twin.policy_loss(algorithm("luspo"), **batch).gradient, flat.gradient * lengths.sum() / 11)


def test_a_correction_is_a_change_like_any_other_and_none_takes_it_away() -> None:
    row = algorithm("dapo", correction="token_truncate")
    assert row.correction == TokenTruncate(cap=2.0)
    assert row.reads == {"old_logp", "sampler_logp"}
    assert algorithm("grpo", correction={"kind": "token_mask", "low": "0.8"}).correction == TokenMask(0.8, 5.0)
    assert algorithm("dapo", correction="none") == algorithm("dapo", correction=None) == algorithm("dapo")


@pytest.mark.parametrize("kind", list(KINDS["correction"]))
def test_a_correction_beside_a_ratio_against_the_sampler_is_refused(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"dppo_tv: correction {kind}: its ratio is taken against the sampler"):
        algorithm("dppo_tv", correction=kind)
    with pytest.raises(ConfigError, match="so it holds the mismatch already"):
        algorithm("dapo", ratio={"kind": "token", "anchor": "sampler"}, correction=kind)
    assert algorithm("dppo_tv", ratio="token", correction=kind).anchor == "old"


def test_a_top_k_divergence_beside_a_ratio_that_is_not_against_the_sampler_is_refused() -> None:
    top = {"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": 20}
    with pytest.raises(ConfigError, match="dapo: trust divergence: topk compares with the sampler's"):
        algorithm("dapo", trust=top)
    row = algorithm("dppo_tv", trust=top)
    assert row.reads == {"sampler_logp", "sampler_top_logp", "top_logp", "top_is_sampled"}
    assert algorithm("dppo_tv").reads == {"sampler_logp"}
