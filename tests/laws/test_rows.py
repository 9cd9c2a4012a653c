"""What must be true of EVERY row of the table, whatever is in it. A new row is tested the day it is added."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import strop
from strop.algorithms import KINDS, ROWS
from strop.metrics import Metric, merge
from strop.objective.objective import objective
from strop.objective.streams import Streams
from tests.laws.batches import STREAMS, Batch, error, random_batch, row_of, same_metrics, taken
from tests.objective.twins import Reference, Torch

EVERY_ROW = pytest.mark.parametrize("name", list(ROWS))
EVERY_MEAN = pytest.mark.parametrize("aggregation", list(KINDS["aggregation"]))
SEEDS = pytest.mark.parametrize("seed", range(3))


def with_weights(name: str, batch: Batch) -> Batch:
    """The batch with its weights fixed: what a trainer does before anything is split."""
    return {**batch, "weight": Reference().token_weights(batch["mask"], batch["group"], row_of(name).aggregation)}


@EVERY_ROW
@SEEDS
def test_value_gradient_and_metrics_are_those_of_the_reference(name: str, seed: int) -> None:
    batch = random_batch(seed)
    ours, theirs = Torch().policy_loss(row_of(name), **batch), Reference().policy_loss(row_of(name), **batch)
    assert ours.value == pytest.approx(theirs.value, rel=1e-12, abs=1e-13)
    assert error(ours.gradient, theirs.gradient) < 1e-12
    assert error(ours.loss, theirs.loss) < 1e-12
    same_metrics(ours.metrics, theirs.metrics)


@EVERY_ROW
@SEEDS
def test_the_trust_region_binds_in_the_batches_of_these_laws(name: str, seed: int) -> None:
    """Otherwise the laws below would not test it."""
    metrics = Reference().policy_loss(row_of(name), **random_batch(seed, spread=1.2)).metrics
    kind, sides = ROWS[name].trust.kind, [metrics[side].mean for side in ("clip_high", "clip_low")]
    if kind not in ("gate", "open"):
        assert 0 < sum(sides) < 1
    if kind in ("clip", "divergence", "geometric"):
        assert all(sides)


@EVERY_ROW
@SEEDS
@pytest.mark.parametrize("parts", [1, 2, 3, 5, 12])
def test_no_partition_order_or_packing_changes_gradient_or_metrics(name: str, seed: int, parts: int) -> None:
    rng = np.random.default_rng(100 * seed + parts)
    batch = with_weights(name, random_batch(seed))
    whole = Torch().policy_loss(row_of(name), **batch)
    gradient = np.zeros_like(whole.gradient)
    metrics = []
    for rows in np.array_split(rng.permutation(len(batch["group"])), parts):
        part = Torch().policy_loss(row_of(name), **taken(batch, rows))
        gradient[rows] += part.gradient
        metrics.append(part.metrics)
    assert error(gradient, whole.gradient) < 1e-12
    same_metrics(merge(metrics), whole.metrics)


@EVERY_ROW
@SEEDS
def test_no_packing_of_the_flat_streams_changes_loss_gradient_or_metrics(name: str, seed: int) -> None:
    """Tokens of a micro-batch in any order, sequences interleaved, and numbered anew in each part."""
    rng = np.random.default_rng(seed)
    row, batch = row_of(name), with_weights(name, random_batch(seed))
    keep = torch.tensor(batch["mask"]) == 1
    flat = {f"{key}_N": torch.tensor(batch[key])[keep] for key in ("weight", "entropy", *STREAMS)}
    flat["advantage_N"] = torch.tensor(batch["advantage"])[:, None].expand(keep.shape)[keep]
    seq = keep.nonzero()[:, 0]

    def packed(parts: list[np.ndarray]) -> tuple[torch.Tensor, float, dict[str, Metric]]:
        leaf = torch.tensor(batch["logp"])[keep].requires_grad_()
        outs = []
        for part in parts:
            at = torch.tensor(rng.permutation(np.isin(seq.numpy(), part).nonzero()[0]))
            local = torch.unique(seq[at], return_inverse=True)[1]
            outs.append(objective(row, Streams(leaf[at], seq_N=local, **{key: x[at] for key, x in flat.items()})))
            outs[-1].value.backward()
        assert leaf.grad is not None
        return leaf.grad, sum(out.value.item() for out in outs), merge(out.metrics for out in outs)

    gradient, value, metrics = packed([np.arange(12)])
    for parts in (2, 4, 7):
        found = packed(np.array_split(rng.permutation(12), parts))
        assert error(found[0].numpy(), gradient.numpy()) < 1e-12
        assert found[1] == pytest.approx(value, rel=1e-12, abs=1e-13)
        same_metrics(found[2], metrics)


@EVERY_ROW
@SEEDS
def test_the_weights_of_a_row_are_shares(name: str, seed: int) -> None:
    batch = with_weights(name, random_batch(seed))
    weight, live = batch["weight"], batch["mask"] == 1
    assert (weight[live] > 0).all() and not weight[~live].any()
    if ROWS[name].aggregation.kind != "constant":
        assert weight.sum() == pytest.approx(1.0, rel=1e-12)


@EVERY_ROW
@SEEDS
def test_ranks_that_average_their_gradients_agree_once_the_factor_is_undone(name: str, seed: int) -> None:
    batch = with_weights(name, random_batch(seed))
    whole = Torch().policy_loss(row_of(name), **batch)
    for ranks in (2, 4):
        dealt = [Torch().policy_loss(row_of(name), **taken(batch, slice(rank, None, ranks))) for rank in range(ranks)]
        total = sum(ranks * part.value for part in dealt) / ranks
        assert total == pytest.approx(whole.value, rel=1e-12, abs=1e-13)


@EVERY_ROW
@SEEDS
def test_zero_advantage_gives_zero_policy_gradient(name: str, seed: int) -> None:
    batch = {**random_batch(seed), "advantage": np.zeros(12)}
    out = Torch().policy_loss(row_of(name, regularizers="none"), **batch)
    assert not out.gradient.any()
    assert out.metrics["clip_high"].total == out.metrics["clip_low"].total == 0


@EVERY_ROW
@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf, 1e30, -1e30])
def test_nothing_under_the_mask_reaches_value_gradient_or_metrics(name: str, garbage: float) -> None:
    batch = random_batch(4)
    advantage = np.repeat(batch["advantage"][:, None], 9, axis=1)
    clean = Torch().policy_loss(row_of(name), **{**batch, "advantage": advantage})
    per_token = {**batch, "advantage": advantage}
    dirty = {
        key: np.where(batch["mask"] == 0, garbage, per_token[key]) for key in ("logp", "entropy", "advantage", *STREAMS)
    }
    out = Torch().policy_loss(row_of(name), **{**batch, **dirty})
    assert out.value == clean.value
    assert (out.gradient == clean.gradient).all()
    assert not out.gradient[batch["mask"] == 0].any()
    same_metrics(out.metrics, clean.metrics, 0.0)


@EVERY_ROW
def test_a_batch_without_a_live_token_gives_exactly_zero_attached_to_the_graph(name: str) -> None:
    batch = {**random_batch(5), "mask": np.zeros((12, 9), dtype=np.int64)}
    logits = torch.randn(12, 9, 5, dtype=torch.float64, requires_grad=True)
    logp = logits.log_softmax(-1)[..., 0]
    tensors = {key: torch.tensor(value) for key, value in batch.items() if key != "logp"}
    out = strop.policy_loss(row_of(name), logp=logp, **tensors)
    assert out.value.item() == 0.0 and out.value.requires_grad
    out.value.backward()
    assert logits.grad is not None and not logits.grad.any()
    assert all(math.isfinite(metric.total) for metric in out.metrics.values())


@EVERY_ROW
@SEEDS
def test_advantages_may_differ_inside_a_completion(name: str, seed: int) -> None:
    batch = random_batch(seed)
    batch["advantage"] = np.random.default_rng(seed).standard_normal((12, 9))
    ours, theirs = Torch().policy_loss(row_of(name), **batch), Reference().policy_loss(row_of(name), **batch)
    assert ours.value == pytest.approx(theirs.value, rel=1e-12, abs=1e-13)
    assert error(ours.gradient, theirs.gradient) < 1e-12


@EVERY_ROW
@EVERY_MEAN
@SEEDS
def test_every_row_runs_under_every_mean_with_regularizers(name: str, aggregation: str, seed: int) -> None:
    regularizers = [{"kind": "kl", "beta": 0.1, "estimator": "unbiased"}, {"kind": "entropy", "beta": 0.02}]
    row = strop.algorithm(name, aggregation=aggregation, regularizers=regularizers, length=16)
    ours, theirs = (twin.policy_loss(row, **random_batch(seed)) for twin in (Torch(), Reference()))
    assert ours.value == pytest.approx(theirs.value, rel=1e-12, abs=1e-13)
    assert error(ours.gradient, theirs.gradient) < 1e-12
    assert error(ours.entropy_gradient, theirs.entropy_gradient) < 1e-12
    same_metrics(ours.metrics, theirs.metrics)


@EVERY_ROW
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 3e-6), (torch.bfloat16, 0.06)])
def test_float32_and_bfloat16_log_probs_stay_within_their_own_bounds(
    name: str, dtype: torch.dtype, bound: float
) -> None:
    """Log-ratios are small here, so that rounding cannot carry a token across a bound of the trust region."""
    batch = random_batch(6, spread=0.002 if ROWS[name].ratio.kind == "token" else 1e-5)
    tensors = {key: torch.tensor(value) for key, value in batch.items()}
    narrow = {key: value.to(dtype) for key, value in tensors.items() if value.is_floating_point()}
    exact = Reference().policy_loss(row_of(name), **batch)
    if dtype is torch.bfloat16:  # the rounding of old log-probs is the sampler's affair: they are the current ones here
        narrow |= {key: narrow["logp"] for key in STREAMS}
        exact = Reference().policy_loss(row_of(name), **{**batch, **dict.fromkeys(STREAMS, batch["logp"])})
    narrow["logp"].requires_grad_()
    out = strop.policy_loss(row_of(name), **{**tensors, **narrow})
    out.value.backward()
    assert out.loss_N.dtype == torch.float32
    assert narrow["logp"].grad is not None and narrow["logp"].grad.dtype == dtype
    assert error(narrow["logp"].grad.double().numpy(), exact.gradient) < bound


@EVERY_ROW
def test_float64_is_never_demoted(name: str) -> None:
    tensors = {key: torch.tensor(value) for key, value in random_batch(7).items()}
    assert strop.policy_loss(row_of(name), **tensors).loss_N.dtype == torch.float64


@EVERY_ROW
def test_a_stream_that_is_read_and_not_given_is_an_error_naming_row_and_stream(name: str) -> None:
    for stream in ROWS[name].reads:
        batch = {key: torch.tensor(value) for key, value in random_batch(8).items() if key != stream}
        with pytest.raises(strop.errors.ConfigError, match=f"{name} reads {stream}"):
            strop.policy_loss(row_of(name), **batch)


@EVERY_ROW
def test_streams_that_are_not_read_are_ignored(name: str) -> None:
    batch = random_batch(9)
    unread = {key: np.full_like(batch[key], math.nan) for key in STREAMS if key not in ROWS[name].reads}
    assert (
        Torch().policy_loss(row_of(name), **{**batch, **unread}).value
        == Torch().policy_loss(row_of(name), **batch).value
    )


@EVERY_ROW
@SEEDS
def test_on_policy_the_gradient_of_every_row_is_the_policy_gradient(name: str, seed: int) -> None:
    """At ratio 1 rows differ in advantages and in the mean they take, and in nothing else: -w A, token by token."""
    batch = with_weights(name, random_batch(seed, spread=0.0))
    found = Torch().policy_loss(row_of(name, regularizers="none"), **batch).gradient
    share = batch["weight"] * batch["advantage"][:, None]
    assert error(found, -share) < 1e-12


@EVERY_ROW
def test_one_small_step_down_the_gradient_improves_the_rows_own_objective(name: str) -> None:
    batch = random_batch(10, spread=0.0)
    row = row_of(name)
    before = Torch().policy_loss(row, **batch)
    step = 1e-6 * before.gradient / np.linalg.norm(before.gradient)
    after = Torch().policy_loss(row, **{**batch, "logp": batch["logp"] - step})
    assert after.value < before.value


@EVERY_ROW
def test_on_policy_the_ratio_is_exactly_one_and_nothing_is_held_back(name: str) -> None:
    batch = random_batch(11)
    fresh = {**batch, "old_logp": batch["logp"], "sampler_logp": batch["logp"]}
    metrics = Torch().policy_loss(row_of(name), **fresh).metrics
    assert metrics["ratio/max"].mean == metrics["ratio/min"].mean == 1.0
    assert metrics["clip_high"].mean == metrics["clip_low"].mean == 0.0
