"""Ragged random batches for the laws: completions of unequal length, scattered groups, holes in the mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import strop
from strop.algorithms import Algorithm
from strop.metrics import Metric

Batch = dict[str, Any]

LENGTH = 9


def row_of(name: str, **changes: Any) -> Algorithm:
    """The row with a length for those whose mean needs one."""
    return strop.algorithms.filled(strop.algorithm(name, **changes), LENGTH)


def random_batch(seed: int, *, completions: int = 12, prompts: int = 4, width: int = 9, spread: float = 0.5) -> Batch:
    """Keyword arguments of policy_loss, as float64 arrays. Log-ratios have deviation `spread`, so every bound binds.

    Completion 0 is wholly masked and belongs to a prompt of its own; some masks have holes.
    """
    rng = np.random.default_rng(seed)
    length = rng.integers(1, width + 1, completions)
    mask = (np.arange(width) < length[:, None]) & (rng.random((completions, width)) < 0.9)
    mask[np.arange(1, completions), rng.integers(0, length)[1:]] = True
    mask[0] = False
    group = rng.permutation(np.arange(completions) % (prompts - 1))
    group[0] = prompts + 7
    logp = np.log(rng.beta(2, 2, (completions, width)))
    near = {name: np.minimum(logp + spread * rng.standard_normal(logp.shape), -1e-3) for name in STREAMS}
    return {
        "logp": logp,
        "advantage": rng.standard_normal(completions),
        "mask": mask.astype(np.int64),
        "group": group,
        "entropy": rng.random(logp.shape),
        **near,
    }


def with_tops(batch: Batch, k: int, *, words: int = 6, seed: int = 0) -> Batch:
    """The batch with the sampler's k most likely of `words` tokens at each position, and what the policy gives them.

    Both distributions agree with the batch's own log-probs of the sampled token, which is among the k or not.
    """
    rng = np.random.default_rng(seed)
    shape = (*batch["logp"].shape, words)
    sampled = rng.integers(0, words, shape[:2])

    def whole(logp: Any) -> Any:
        """log-probs of every word, those of the sampled one given."""
        others = rng.random(shape)
        np.put_along_axis(others, sampled[..., None], 0.0, -1)
        rest = others / others.sum(-1, keepdims=True) * -np.expm1(logp)[..., None]
        np.put_along_axis(rest, sampled[..., None], np.exp(logp)[..., None], -1)
        return np.log(rest)

    sampler, policy = whole(batch["sampler_logp"]), whole(batch["logp"])
    ids = np.argsort(-sampler, axis=-1)[..., :k]
    return {
        **batch,
        "sampler_top_logp": np.take_along_axis(sampler, ids, -1),
        "top_logp": np.take_along_axis(policy, ids, -1),
        "top_is_sampled": ids == sampled[..., None],
    }


STREAMS = ("old_logp", "sampler_logp", "ref_logp", "masked_logp")

PER_TOKEN = ("logp", "mask", "entropy", "weight", *STREAMS)


def taken(batch: Batch, rows: Any) -> Batch:
    """The completions `rows` of a batch, in that order."""
    return {name: value[rows] for name, value in batch.items()}


def error(actual: Any, expected: Any) -> float:
    """|g - g*| / |g*|, norms over the whole gradient."""
    size = float(np.linalg.norm(expected))
    return float(np.linalg.norm(actual - expected)) / size if size else float(np.linalg.norm(actual))


def same_metrics(actual: dict[str, Metric], expected: dict[str, Metric], tolerance: float = 1e-12) -> None:
    assert actual.keys() == expected.keys()
    for name, metric in expected.items():
        assert actual[name].total == pytest.approx(metric.total, rel=tolerance, abs=tolerance), name
        assert actual[name].weight == pytest.approx(metric.weight, rel=tolerance, abs=tolerance), name
