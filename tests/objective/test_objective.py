"""The five choices together: loss, metrics, and what is demanded of the streams. Laws over every row: tests/laws."""

from __future__ import annotations

import math

import pytest
import torch

import strop
from strop.algorithms import ROWS, filled
from strop.errors import ConfigError
from strop.metrics import High, Low, Mean, Sum
from strop.objective.objective import objective
from strop.objective.streams import Streams
from tests.objective.twins import close


def streams(n: int = 4, **more: torch.Tensor) -> Streams:
    rng = torch.Generator().manual_seed(n)
    logp = -torch.rand(n, generator=rng, dtype=torch.float64)
    seq = torch.arange(n) // 2
    old = logp - torch.linspace(-0.5, 0.5, n, dtype=torch.float64)
    advantage = torch.tensor([1.0, -1.0] * n, dtype=torch.float64)[:n]
    return Streams(logp.requires_grad_(), advantage, torch.full((n,), 1 / n).double(), seq, old_logp_N=old, **more)


def test_the_loss_is_a_plain_sum_of_weight_times_token_loss() -> None:
    given = streams()
    out = objective(ROWS["dapo"], given)
    close(out.value.detach(), (given.weight_N * out.loss_N.detach()).sum())
    assert out.loss_N.shape == (4,) and out.value.shape == ()


def test_the_metrics_are_these_and_know_how_to_merge() -> None:
    ref, entropy = torch.full((4,), -1.0).double(), torch.arange(4).double()
    row = strop.algorithm("dapo", regularizers={"kind": "kl", "beta": 0.5})
    given = streams(ref_logp_N=ref, entropy_N=entropy)
    metrics = objective(row, given).metrics
    assert {name: type(metric) for name, metric in metrics.items()} == {
        "loss": Sum,
        "policy_loss": Sum,
        "ratio": Mean,
        "ratio/max": High,
        "ratio/min": Low,
        "clip_ratio/low_mean": Mean,
        "clip_ratio/high_mean": Mean,
        "clip_ratio/high_prob": Mean,
        "prob": Mean,
        "entropy": Mean,
        "kl": Mean,
        "kl/clamped": Sum,
    }
    assert all(type(metric.total) is float and type(metric.weight) is float for metric in metrics.values())
    close(metrics["entropy"].mean, 1.5)
    close(metrics["prob"].mean, given.logp_N.detach().exp().mean())
    close(metrics["kl"].mean, strop.kl(given.logp_N.detach(), ref).mean())
    close(metrics["loss"].mean, metrics["policy_loss"].mean + 0.5 * metrics["kl"].mean)


def test_the_probability_of_up_clipped_tokens_is_averaged_over_them_alone() -> None:
    """Figure 3a of the DAPO paper: what clip-higher is about."""
    n = 5
    old = torch.tensor([0.01, 0.3, 0.2, 0.5, 0.1], dtype=torch.float64).log()
    ratio = torch.tensor([1.5, 1.5, 1.1, 1.5, 0.5], dtype=torch.float64)
    advantage = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0], dtype=torch.float64)
    given = Streams(old + ratio.log(), advantage, torch.ones(n) / n, torch.arange(n), old_logp_N=old)
    prob = objective(ROWS["dapo"], given).metrics["clip_ratio/high_prob"]
    assert (prob.weight, prob.total) == (2.0, pytest.approx(0.31))


def test_no_tokens_give_zero_on_the_graph_and_no_extremes() -> None:
    empty = torch.zeros(0, dtype=torch.float64)
    logits = torch.zeros(3, requires_grad=True)
    given = Streams(logits[:0], empty, empty, torch.zeros(0, dtype=torch.int64), empty, empty, empty, empty, empty)
    for row in ROWS.values():
        out = objective(row, given)
        assert out.value.item() == 0.0
        out.value.backward()
        assert "ratio/max" not in out.metrics and math.isnan(out.metrics["ratio"].mean)
    assert logits.grad is not None and not logits.grad.any()


def test_only_logp_and_entropy_carry_gradient() -> None:
    given = streams()
    extra = {name: torch.zeros(4, dtype=torch.float64, requires_grad=True) for name in ("old", "ref", "weight", "adv")}
    held = Streams(
        given.logp_N,
        given.advantage_N + extra["adv"],
        given.weight_N + extra["weight"],
        given.seq_N,
        old_logp_N=given.old_logp_N + extra["old"],  # type: ignore[operator]
        ref_logp_N=extra["ref"],
    )
    row = strop.algorithm("dapo", regularizers={"kind": "kl", "beta": 0.5, "estimator": "unbiased"})
    objective(row, held).value.backward()
    assert given.logp_N.grad is not None
    assert all(leaf.grad is None for leaf in extra.values())


def test_bfloat16_log_probs_are_promoted_before_any_arithmetic() -> None:
    given = streams()
    narrow = Streams(
        given.logp_N.detach().bfloat16(),
        given.advantage_N,
        given.weight_N,
        given.seq_N,
        given.logp_N.detach().bfloat16(),
    )
    out = objective(ROWS["dapo"], narrow)
    assert out.loss_N.dtype == torch.float32
    assert out.metrics["ratio"].mean == 1.0


def test_a_missing_stream_is_named_with_its_row() -> None:
    with pytest.raises(ConfigError, match="grpo reads ref_logp, which was not given: pass ref_logp="):
        objective(ROWS["grpo"], streams())
    with pytest.raises(ConfigError, match="dppo_tv reads sampler_logp"):
        objective(ROWS["dppo_tv"], streams())


def test_a_row_reads_the_union_of_its_choices() -> None:
    assert ROWS["dapo"].reads == {"old_logp"} and ROWS["dapo"].anchor == "old"
    assert ROWS["grpo"].reads == {"old_logp", "ref_logp"}
    assert ROWS["scalerl"].reads == {"sampler_logp"} and ROWS["scalerl"].anchor == "sampler"
    assert strop.algorithm("dapo", regularizers={"kind": "entropy", "beta": 0.1}).reads == {"old_logp", "entropy"}


def test_weights_without_a_length_are_an_error_naming_the_row() -> None:
    seq, prompt = torch.tensor([0, 0, 1]), torch.tensor([4, 4])
    with pytest.raises(ConfigError, match="dr_grpo: aggregation constant needs a length in tokens"):
        ROWS["dr_grpo"].weights(seq, prompt)
    close(filled(ROWS["dr_grpo"], 10).weights(seq, prompt), [1 / 20] * 3)
