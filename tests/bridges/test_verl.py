"""verl's conventions, played in float64: micro-batches add up on a rank, and the gradients of ranks are averaged."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import strop
from strop.algorithms import ROWS, Algorithm, filled
from strop.bridges import peers, verl
from strop.errors import ConfigError
from tests.laws.batches import error, random_batch
from tests.shape.source import ROOT

LENGTH = 9
LAYOUTS = {
    "one micro-batch": [[list(range(12))]],
    "one row each": [[[row] for row in range(12)]],
    "uneven, shuffled": [[[7, 0, 3], [11], [1, 2, 4, 5, 6, 8, 9, 10]]],
    "two ranks": [[[0, 1, 2], [3, 4, 5]], [[6, 7], [8, 9, 10, 11]]],
    "four ranks, one idle": [[[0]], [[5, 1], [2, 3]], [[4, 6, 7, 8]], [[9], [10], [11]]],
}
"""Rank -> micro-batch -> rows. Row 0 is wholly masked where a batch has such a row."""


def actor(row: Algorithm, *, column: bool = False, **changes: Any) -> Any:
    """The part of verl's ActorConfig that a loss reads, set as the row asks."""
    kl = next((one for one in row.regularizers if one.kind == "kl"), None)
    given = {"use_kl_loss": kl is not None and not column, "kl_loss_coef": kl.beta if kl else 0.001}
    return types.SimpleNamespace(
        **{**given, "kl_loss_type": "low_var_kl", "entropy_coeff": 0, "global_batch_info": {}} | changes
    )


def mode(row: Algorithm, column: bool = False) -> str:
    if column or row.aggregation.kind == "prompt":
        return "token-sum"
    return "seq-mean-token-sum" if row.aggregation == ROWS["rloo"].aggregation else verl.MODES[row.aggregation.kind]


def bare(row: Algorithm) -> Algorithm:
    """What is left of a row to the policy loss, with its length."""
    return filled(replace(row, regularizers=()), LENGTH)


def batch(seed: int, masked: bool = False) -> dict[str, Any]:
    """A ragged batch with holes in its mask; row 0 wholly masked on demand."""
    made = random_batch(seed)
    if not masked:
        made["mask"][0, :2] = 1
    return made


def step(
    row: Algorithm, made: dict[str, Any], layout: list[Any], column: Tensor | None = None, **config: Any
) -> Tensor:
    """The gradient by logp of one optimizer step, as verl accumulates and averages it.    -> [B, T]"""
    loss = verl.policy_loss(row, column=column is not None, bypass=row.anchor == "sampler")
    logp = torch.tensor(made["logp"], requires_grad=True)
    anchor = torch.tensor(made["sampler_logp" if row.anchor == "sampler" else "old_logp"])
    mask = torch.tensor(made["mask"]).bool()
    credit = torch.tensor(made["advantage"])[:, None].expand_as(logp)
    setup = actor(row, column=column is not None, **config)
    norm = row.aggregation.kind == "constant" and mode(row) == "seq-mean-token-sum-norm"
    setup.global_batch_info |= {"dp_size": len(layout), "batch_num_tokens": int(mask.sum())}
    setup.global_batch_info |= {"global_batch_size": len(mask), "loss_scale_factor": LENGTH if norm else None}
    for part in (torch.tensor(rows) for rank in layout for rows in rank):
        value, _ = loss(
            old_log_prob=anchor[part],
            log_prob=logp[part],
            advantages=credit[part],
            response_mask=mask[part],
            loss_agg_mode=mode(row, column is not None),
            config=setup,
            rollout_is_weights=None if column is None else column[part],
        )
        value.backward()
    assert logp.grad is not None
    return logp.grad / len(layout)


def oracle(row: Algorithm, made: dict[str, Any], weight: Any = None) -> np.ndarray:
    return strop.reference.policy_loss(bare(row), **{**made, "weight": weight}).gradient


def fed() -> list[str]:
    """The rows that verl can feed, by one anchor or the other."""
    names = []
    for name, row in ROWS.items():
        try:
            verl.policy_loss(name, bypass=row.anchor == "sampler")
        except ConfigError:
            continue
        names.append(name)
    return names


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [name for name in fed() if ROWS[name].aggregation.kind != "prompt"])
def test_the_gradient_is_the_rows_under_every_split_and_number_of_ranks(name: str, layout: str) -> None:
    made = batch(1)
    assert error(step(ROWS[name], made, LAYOUTS[layout]).numpy(), oracle(ROWS[name], made)) <= 1e-12


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", fed())
def test_a_column_of_weights_is_exact_for_every_mean_with_rows_wholly_masked(name: str, layout: str) -> None:
    made, row = batch(2, masked=True), replace(ROWS[name], regularizers=())
    uid = [f"prompt {group}" for group in made["group"]]
    column = verl.weights(bare(row), torch.tensor(made["mask"]), uid).double()
    assert error(step(row, made, LAYOUTS[layout], column).numpy(), oracle(row, made, column.numpy())) <= 1e-12
    assert (
        error(column.numpy(), strop.reference.token_weights(made["mask"], made["group"], bare(row).aggregation)) < 1e-6
    )


@pytest.mark.parametrize("name", ["sapo", "dr_grpo"])
def test_a_wholly_masked_row_shrinks_the_step_by_its_share_where_verl_counts_rows(name: str) -> None:
    made = batch(3, masked=True)
    got = step(ROWS[name], made, LAYOUTS["two ranks"]).numpy()
    assert error(got, oracle(ROWS[name], made) * 11 / 12) <= 1e-12


def test_importance_weights_multiply_the_loss_and_no_weight() -> None:
    made, row = batch(4), ROWS["dapo"]
    factor = torch.rand(made["logp"].shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3
    weight = strop.reference.token_weights(made["mask"], made["group"], "token") * factor.numpy()
    loss, logp = verl.policy_loss(row), torch.tensor(made["logp"], requires_grad=True)
    setup = actor(row)
    setup.global_batch_info = {"dp_size": 1, "batch_num_tokens": int(made["mask"].sum()), "global_batch_size": 12}
    arguments = [torch.tensor(made["old_logp"]), logp, torch.tensor(made["advantage"])[:, None].expand_as(logp)]
    loss(*arguments, torch.tensor(made["mask"]), "token-mean", setup, factor)[0].backward()
    assert logp.grad is not None
    assert error(logp.grad.numpy(), oracle(row, made, weight)) <= 1e-12


def call(row: Algorithm, agg: str, *, column: Tensor | None = None, mask: Tensor | None = None, **config: Any) -> Any:
    """One micro-batch of two rows, three tokens wide."""
    info = {"dp_size": 1, "batch_num_tokens": 4, "global_batch_size": 2, "loss_scale_factor": None}
    setup = actor(row, **{"global_batch_info": info, **config})
    zeros = torch.zeros(2, 3, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 0], [1, 1, 0]]) if mask is None else mask
    logp = zeros.clone().requires_grad_()
    loss = verl.policy_loss(row, bypass=row.anchor == "sampler")
    value, metrics = loss(zeros, logp, zeros + 1, mask, agg, setup, column)
    return value, metrics, logp


def test_nothing_under_the_mask_reaches_the_gradient() -> None:
    row, logp = ROWS["sapo"], torch.tensor([[-1.0, float("nan")]], requires_grad=True)
    setup = actor(row, global_batch_info={"dp_size": 1, "batch_num_tokens": 1, "global_batch_size": 1})
    mask, bad = torch.tensor([[True, False]]), torch.tensor([[-1.0, float("inf")]])
    value, _ = verl.policy_loss(row)(bad, logp, torch.ones(1, 2), mask, "seq-mean-token-mean", setup)
    value.backward()
    assert value.item() == -2.0
    assert logp.grad is not None
    assert logp.grad.tolist() == [[-1.0, 0.0]]


def test_a_micro_batch_without_a_token_is_zero_and_attached() -> None:
    value, metrics, logp = call(ROWS["dapo"], "token-mean", mask=torch.zeros(2, 3, dtype=torch.int64))
    value.backward()
    assert value.item() == 0.0
    assert logp.grad is not None
    assert not logp.grad.any()
    assert set(metrics.values()) == {0.0}


def test_the_metrics_are_token_means_of_the_micro_batch() -> None:
    row = strop.algorithm("dapo")
    old = torch.log(torch.tensor([[1.0, 2.0, 1.0]]))
    setup = actor(row, global_batch_info={"dp_size": 1, "batch_num_tokens": 9, "global_batch_size": 3})
    loss = verl.policy_loss(row)
    _, metrics = loss(
        old - 2.0, old - 2.0 + torch.log(torch.tensor([[1.5, 1.0, 0.5]])), torch.ones(1, 3), old > -1, config=setup
    )
    assert metrics == pytest.approx({"actor/clip_high": 1 / 3, "actor/clip_low": 0.0, "actor/ratio": 1.0})


DAPO, GRPO, DR_GRPO, PROMPT, RLOO = (ROWS[name] for name in ("dapo", "grpo", "dr_grpo", "dapo_prompt", "rloo"))
INFO = {"dp_size": 2, "batch_num_tokens": 4, "global_batch_size": 2}


@pytest.mark.parametrize(
    ("row", "agg", "given", "message"),
    [
        (DAPO, "seq-mean-token-mean", {}, "takes the token mean: set loss_agg_mode=token-mean, is seq-mean-token-mean"),
        (PROMPT, "token-mean", {}, "takes the prompt mean: set loss_agg_mode=token-sum, is token-mean"),
        (DAPO, "token-mean", {"global_batch_info": {}}, "lacks dp_size, batch_num_tokens, global_batch_size"),
        (DAPO, "token-mean", {"global_batch_info": {"dp_size": 1}}, "lacks batch_num_tokens, global_batch_size"),
        (DR_GRPO, "seq-mean-token-sum-norm", {}, "set loss_scale_factor=the largest response length, is None"),
        (
            replace(DR_GRPO, aggregation=type(DR_GRPO.aggregation)(8)),
            "seq-mean-token-sum-norm",
            {"global_batch_info": {**INFO, "loss_scale_factor": 9}},
            "set loss_scale_factor=8, is 9",
        ),
        (GRPO, "seq-mean-token-mean", {"use_kl_loss": False}, "set use_kl_loss=True, kl_loss_coef=0.04, kl_loss_type="),
        (GRPO, "seq-mean-token-mean", {"kl_loss_coef": 0.001}, "set use_kl_loss=True, kl_loss_coef=0.04"),
        (GRPO, "seq-mean-token-mean", {"kl_loss_type": "kl"}, "kl_loss_type=low_var_kl or k3"),
        (
            strop.algorithm("grpo", regularizers={"kind": "kl", "beta": 0.1, "estimator": "unbiased"}),
            "seq-mean-token-mean",
            {},
            "verl has no unbiased: give the row k2 or k3",
        ),
        (
            strop.algorithm("dapo", regularizers={"kind": "entropy", "beta": 0.01}),
            "token-mean",
            {},
            "set entropy_coeff=0.01",
        ),
        (PROMPT, "token-sum", {"use_kl_loss": True}, "set use_kl_loss=False and entropy_coeff=0"),
        (PROMPT, "token-sum", {}, "put strop.bridges.verl.weights into the batch as rollout_is_weights"),
    ],
)
def test_a_config_under_which_it_would_be_another_loss_is_refused_in_one_line(
    row: Algorithm, agg: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        call(row, agg, **given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_importance_weights_in_the_place_of_token_weights_are_refused() -> None:
    with pytest.raises(ConfigError, match="sum to 4 over a micro-batch.*these are importance weights"):
        call(PROMPT, "token-sum", column=torch.ones(2, 3))
    assert call(PROMPT, "token-sum", column=torch.full((2, 3), 0.25))[0].item() == -1.0


def test_a_row_is_refused_where_its_anchor_is_not_what_verl_hands_in() -> None:
    with pytest.raises(ConfigError, match="^dppo_tv takes its ratio against the sampler.*bypass_mode=True"):
        verl.policy_loss("dppo_tv")
    with pytest.raises(ConfigError, match="^dapo takes its ratio against old log-probs.*anchor: sampler"):
        verl.policy_loss("dapo", bypass=True)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(2, 2), r"response_mask is \[2, 2\], and a tensor beside it \[2, 3\]"),
        (torch.full((2, 3), 0.5), r"response_mask must be \[B, T\] of 0 and 1"),
    ],
)
def test_a_mask_of_another_shape_or_not_of_0_and_1_is_refused(mask: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(DAPO, "token-mean", mask=mask)


def test_one_call_registers_every_row_and_a_row_that_verl_cannot_feed_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: dict[str, Any] = {}

    def register_policy_loss(name: str) -> Any:
        return lambda function: registry.setdefault(name, function)

    fake = types.SimpleNamespace(register_policy_loss=register_policy_loss)
    monkeypatch.setitem(sys.modules, "verl.trainer.ppo.core_algos", fake)
    for name in ("verl", "verl.trainer", "verl.trainer.ppo"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(peers, "version", lambda _: "0.9.1")
    assert verl.register() == [*registry] == [f"strop_{name}" for name in ROWS]
    with pytest.raises(ConfigError, match="^dppo_tv takes its ratio against the sampler"):
        registry["strop_dppo_tv"](old_log_prob=None)
    assert registry["strop_dapo"].__name__ == "strop_dapo"


def test_the_page_names_the_mode_of_every_mean_and_its_snippet_prints_what_it_says() -> None:
    text = (ROOT / "docs" / "bridges" / "verl.md").read_text(encoding="utf-8")
    for mean, agg in {**verl.MODES, "prompt": verl.COLUMN_MODE}.items():
        assert f"| `{mean}` | `{agg}`" in text
    [block] = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "verl.md", "exec"), {})  # noqa: S102
    promised = re.findall(r"print\(.*\)  # (.*)$", block, re.MULTILINE)
    assert printed.getvalue().splitlines() == promised


@pytest.mark.peer("verl")
def test_verl_imports_the_file_that_the_page_tells_it_to_and_has_every_row_registered() -> None:
    import inspect

    from verl.trainer.ppo.core_algos import get_policy_loss_fn
    from verl.workers.config import HFModelConfig

    assert "import_external_libs(self.external_lib)" in inspect.getsource(HFModelConfig.__post_init__)
    for name in verl.register():
        assert callable(get_policy_loss_fn(name))
