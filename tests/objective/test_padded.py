"""The public functions on [B, T] and a mask: shapes, slices of weights, names."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
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


FAIR: dict[str, Any] = {
    "mask": np.array([[1, 1, 0], [1, 0, 1]]),
    "group": np.array([7, 7]),
    "logp": np.full((2, 3), -1.0),
    "old_logp": np.full((2, 3), -1.2),
    "ref_logp": np.full((2, 3), -1.1),
    "advantage": np.array([1.0, -1.0]),
    "weight": np.full((2, 3), 0.25),
}


def changed(name: str, at: tuple[int, ...], value: float) -> Any:
    """FAIR's array of that name as floats, with one value changed."""
    array = FAIR[name].astype(np.float64)
    array[at] = value
    return array


SHAPES = [
    ("mask", np.ones(3), "mask must be [B, T], got [3]"),
    ("mask", np.ones((1, 2, 3)), "mask must be [B, T], got [1, 2, 3]"),
    ("group", np.zeros(3), "group must be [B] = [2], one id per completion, got [3]"),
    ("group", np.zeros((2, 3)), "group must be [B] = [2], one id per completion, got [2, 3]"),
    ("group", np.array(0), "group must be [B] = [2], one id per completion, got []"),
    *(
        (name, np.zeros(shape), f"{name} must be [2, 3] like the mask, got {[*shape]}")
        for name in ("logp", "old_logp", "ref_logp", "sampler_logp", "masked_logp", "entropy", "weight")
        for shape in ((2, 4), (3, 2), (2,), (2, 1), (4,))
    ),
    *(
        ("advantage", np.zeros(shape), f"advantage must be [2], one per completion, or [2, 3] like the mask, got {got}")
        for shape, got in (((3,), "[3]"), ((2, 1), "[2, 1]"), ((3, 2), "[3, 2]"), ((), "[]"))
    ),
    *(
        (name, np.zeros((2, 3)), f"{name} must be [2, 3] like the mask and K ids deep, got [2, 3]")
        for name in ("top_logp", "sampler_top_logp", "top_is_sampled")
    ),
]

VALUES = [
    *(
        ("mask", changed("mask", (1, 2), value), f"mask[1, 2] is {value:g}: a token trains (1) or does not (0)")
        for value in (0.5, 2.0, -1.0, 1e-9, math.nan, math.inf)
    ),
    *(
        ("group", changed("group", (1,), value), f"group[1] is {value:g}: a group id is a whole number")
        for value in (0.5, 7.25, math.nan, math.inf)
    ),
]

WEIGHTS = [
    ("weight", changed("weight", (0, 1), value), f"weight[0, 1] is {value:g}: a live token's weight")
    for value in (-0.1, math.nan, math.inf)
]


@BOTH
@pytest.mark.parametrize(("name", "value", "says"), [*SHAPES, *VALUES, *WEIGHTS])
def test_a_loss_of_what_does_not_fit_is_refused_in_one_line(twin: Twin, name: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}") as caught:
        twin.policy_loss(ROWS["grpo"], **{**FAIR, name: value})
    assert "\n" not in str(caught.value)


@BOTH
@pytest.mark.parametrize(("name", "value", "says"), [*SHAPES[:5], *VALUES])
def test_weights_of_what_does_not_fit_are_refused_in_one_line(twin: Twin, name: str, value: Any, says: str) -> None:
    given = {"mask": FAIR["mask"], "group": FAIR["group"], name: value}
    with pytest.raises(ValueError, match=f"^{re.escape(says)}"):
        twin.token_weights(given["mask"], given["group"])


@BOTH
def test_weights_that_were_given_do_not_hide_a_group_that_does_not_fit(twin: Twin) -> None:
    with pytest.raises(ValueError, match="group must be"):
        twin.policy_loss(ROWS["grpo"], **{**FAIR, "group": np.zeros(12)})


@BOTH
def test_what_stands_under_the_mask_is_refused_in_no_argument(twin: Twin) -> None:
    dead = {name: changed(name, (0, 2), math.nan) for name in ("logp", "old_logp", "ref_logp", "weight")}
    found = twin.policy_loss(ROWS["grpo"], **{**FAIR, **dead})
    assert found.value == twin.policy_loss(ROWS["grpo"], **FAIR).value


@BOTH
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_a_batch_without_completions_or_without_positions_is_a_batch(twin: Twin, shape: tuple[int, int]) -> None:
    nothing = {name: np.zeros(shape) for name in ("mask", "logp", "old_logp", "ref_logp")}
    out = twin.policy_loss(ROWS["grpo"], **nothing, group=np.zeros(shape[0]), advantage=np.zeros(shape[0]))
    assert out.value == 0.0 and out.gradient.size == 0
    assert twin.token_weights(nothing["mask"], np.zeros(shape[0])).size == 0


@BOTH
@pytest.mark.parametrize("function", ["advantages", "has_signal"])
@pytest.mark.parametrize(
    ("value", "group", "says"),
    [
        ([1.0, 0.0], [0, 0, 0], r"\[2\] and \[3\]"),
        ([[1.0, 0.0]], [[0, 0]], r"\[1, 2\] and \[1, 2\]"),
        ([1.0, 0.0], [[0, 0], [0, 0]], r"\[2\] and \[2, 2\]"),
        ([1.0, 0.0], [0.0, 0.5], r"group\[1\] is 0.5: a group id is a whole number"),
        ([1.0, 0.0], [math.nan, 1.0], r"group\[0\] is nan: a group id is a whole number"),
    ],
)
def test_groups_that_do_not_match_their_rewards_are_refused(
    twin: Twin, function: str, value: Any, group: Any, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        getattr(twin, function)(value, group)


@BOTH
@pytest.mark.parametrize("ids", [[0, 0, 3], [0.0, 0.0, 3.0], [-(2**62), -(2**62), 2**63 - 1]])
def test_whole_ids_of_any_size_and_dtype_are_ids(twin: Twin, ids: list[float]) -> None:
    assert twin.has_signal([1, 0, 1], ids).tolist() == [True, True, False]


@BOTH
@pytest.mark.parametrize(("length", "says"), [([5, -1], r"length\[1\] is -1"), ([math.nan], r"length\[0\] is nan")])
def test_a_length_below_zero_is_no_length(twin: Twin, length: Any, says: str) -> None:
    with pytest.raises(ValueError, match=f"{says}.*: a completion has 0 tokens or more"):
        twin.soft_overlong(length, max_tokens=10, buffer=2)


@pytest.mark.parametrize("length", [-3, -3.0, math.nan])
@pytest.mark.parametrize("shaped", [strop.soft_overlong, strop.reference.soft_overlong])
def test_a_single_length_below_zero_is_no_length_either(shaped: Any, length: float) -> None:
    with pytest.raises(ValueError, match=f"length is {length:g}.*: a completion has 0 tokens or more"):
        shaped(length, max_tokens=10, buffer=2)


@BOTH
def test_a_column_beside_a_row_is_not_broadcast_to_a_square(twin: Twin) -> None:
    with pytest.raises(ValueError, match=r"kl needs logp and ref_logp of one shape, got \[2\] and \[2, 1\]"):
        twin.kl([-1.0, -2.0], [[-1.0], [-2.0]])


@pytest.mark.parametrize("length", [-1, 0.5, math.nan, math.inf])
@pytest.mark.parametrize("name", ["dr_grpo", "dapo"])
def test_a_length_that_is_no_number_of_tokens_is_refused_by_every_row(name: str, length: Any) -> None:
    """Also by one whose mean has no use for it."""
    with pytest.raises(ConfigError, match=f"length is {length}; use a number of tokens, 1 or more"):
        strop.algorithm(name, length=length)
    for mean in ("constant", "token"):
        with pytest.raises(ConfigError, match=f"length is {length}"):
            strop.token_weights(torch.ones(1, 1), torch.zeros(1), mean, length)
