"""The public functions on [B, T] and a mask: shapes, slices of weights, names."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import strop
from strop.algorithms import ROWS
from strop.errors import ConfigError, RewardError
from tests.laws.batches import random_batch
from tests.objective.twins import BOTH, Twin, close


def tensors(seed: int = 0) -> dict[str, Any]:
    return {name: torch.tensor(value) for name, value in random_batch(seed).items()}


def test_the_clip_fractions_have_short_names_too() -> None:
    metrics = strop.policy_loss(ROWS["dapo"], **tensors()).metrics
    assert metrics["clip_high"] == metrics["clip_ratio/high_mean"]
    assert metrics["clip_low"] == metrics["clip_ratio/low_mean"]
    assert {name for metric in metrics.values() for name in ("total", "weight", "mean") if hasattr(metric, name)}


def test_weights_given_are_those_of_the_mask_by_default() -> None:
    batch = tensors()
    weight = strop.token_weights(batch["mask"], batch["group"], "prompt")
    given = strop.policy_loss(ROWS["dapo_prompt"], **batch, weight=weight)
    assert given.value == strop.policy_loss(ROWS["dapo_prompt"], **batch).value


def test_a_row_with_weights_given_needs_no_length() -> None:
    batch = tensors()
    weight = strop.token_weights(batch["mask"], batch["group"], "constant", 9)
    found = strop.policy_loss(ROWS["dr_grpo"], **batch, weight=weight).value
    assert found == strop.policy_loss(strop.algorithm("dr_grpo", length=9), **batch).value
    with pytest.raises(ConfigError, match="dr_grpo: aggregation constant needs a length"):
        strop.policy_loss(ROWS["dr_grpo"], **batch)


def test_one_advantage_per_completion_is_the_same_as_repeating_it() -> None:
    batch = tensors()
    repeated = {**batch, "advantage": batch["advantage"][:, None].expand(batch["mask"].shape)}
    assert strop.policy_loss(ROWS["dapo"], **batch).value == strop.policy_loss(ROWS["dapo"], **repeated).value


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
def test_a_mask_is_a_mask_in_any_dtype(dtype: torch.dtype) -> None:
    batch = tensors()
    expected = strop.policy_loss(ROWS["dapo"], **batch).value
    assert strop.policy_loss(ROWS["dapo"], **{**batch, "mask": batch["mask"].to(dtype)}).value == expected


def test_the_mean_can_be_a_name_a_dict_or_a_record() -> None:
    mask, group = torch.ones(2, 3), torch.tensor([0, 1])
    record = ROWS["dr_grpo"].aggregation
    by_dict = strop.token_weights(mask, group, {"kind": "constant", "length": 6})  # type: ignore[arg-type]
    close(by_dict, strop.token_weights(mask, group, record, length=6))
    close(by_dict, strop.token_weights(mask, group, "constant", 6))


@pytest.mark.parametrize("name", ["logp", "old_logp", "advantage", "entropy"])
def test_a_tensor_of_another_shape_is_named(name: str) -> None:
    batch = tensors()
    with pytest.raises(ValueError, match=rf"{name} must be \[12, 9\] like the mask, got \[12, 8\]"):
        strop.policy_loss(ROWS["dapo"], **{**batch, name: torch.zeros(12, 8)})


def test_a_group_id_per_completion_is_demanded() -> None:
    batch = tensors()
    with pytest.raises(ValueError, match=r"group must be \[B\] = \[12\]"):
        strop.policy_loss(ROWS["dapo"], **{**batch, "group": torch.zeros(3)})
    with pytest.raises(ValueError, match=r"mask must be \[B, T\], got \[12\]"):
        strop.token_weights(torch.ones(12), torch.zeros(12))


def test_wrong_names_get_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean sequence"):
        strop.token_weights(torch.ones(1, 1), torch.zeros(1), "sequense")


def test_a_nan_that_is_not_masked_is_not_hidden() -> None:
    batch = tensors()
    logp = torch.where(batch["mask"] == 1, batch["logp"], 0.0)
    logp[tuple(batch["mask"].nonzero()[0])] = math.nan
    assert strop.policy_loss(ROWS["dapo"], **{**batch, "logp": logp}).value.isnan()


ONE_TOKEN = {"logp": [[-1.0]], "advantage": [1.0], "mask": [[1]], "group": [0]}


@BOTH
@pytest.mark.parametrize(
    ("row", "given", "says"),
    [
        ("dapo", {}, "dapo reads old_logp, which was not given: pass old_logp="),
        ("scalerl", {"old_logp": [[-1.0]]}, "scalerl reads sampler_logp, which was not given"),
        ("grpo", {"old_logp": [[-1.0]]}, "grpo reads ref_logp, which was not given"),
        ("dr_grpo", {"old_logp": [[-1.0]]}, "aggregation constant needs a length"),
    ],
)
def test_a_missing_stream_is_refused_by_row_and_name(twin: Twin, row: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        twin.policy_loss(ROWS[row], **ONE_TOKEN, **given)


@BOTH
@pytest.mark.parametrize(
    ("function", "arguments", "says"),
    [
        ("kl", ([-1.0], [-1.5], "bogus"), "kl: estimator is 'bogus'; use k1, k2, k3, unbiased"),
        ("advantages", ([1.0, 0.0], [0, 0], "bogus"), "unknown advantage 'bogus'.* use standardized, centered"),
        ("token_weights", ([[1]], [0], "bogus"), "unknown aggregation 'bogus'.* use token, prompt"),
        ("token_weights", ([[1]], [0], "constant"), "aggregation constant needs a length"),
        ("has_signal", ([1.0, 0.0], [0, 0], -1.0), "has_signal: tolerance is -1"),
    ],
)
def test_what_cannot_mean_anything_is_refused_by_both_twins(
    twin: Twin, function: str, arguments: tuple[Any, ...], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        getattr(twin, function)(*arguments)


@BOTH
def test_an_infinite_reward_is_refused_and_a_penalty_without_end_too(twin: Twin) -> None:
    with pytest.raises(RewardError, match="completion 1 is infinite"):
        twin.advantages([0.0, math.inf], [0, 0])
    with pytest.raises(ConfigError, match="soft overlong"):
        twin.soft_overlong([3.0], max_tokens=4, buffer=2, penalty=math.inf)
