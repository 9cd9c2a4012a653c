"""What a pass holds is found without numbers, and is what the same pass with numbers holds, but for its kernels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from strop.plan import passes
from strop.plan.held import Held
from strop.plan.passes import sampling, slabs_for, training, unnumbered, weights_of
from strop.policy.lora import Lora
from strop.policy.model import blueprint, load
from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_hf import HFEngine, SlabLayer

PAPER = FakeTensorMode()
PASS: dict[str, Any] = {"rows": 6, "tokens": 40, "completion": 24, "entropy": False, "temperature": 1.0}


def on_paper(**settings: Any) -> Any:
    with torch.device("meta"):
        module = blueprint("strop:tiny", **{"dtype": "float32", **settings})
    with PAPER:
        return unnumbered(module)


@pytest.mark.parametrize("settings", [{}, {"lora": Lora(rank=4)}, {"gradient_checkpointing": True}], ids=str)
def test_without_numbers_a_pass_holds_what_it_holds_with_them(settings: dict[str, Any]) -> None:
    drawn, real = on_paper(**settings), load("strop:tiny", dtype="float32", device="cpu", **settings)
    assert weights_of(drawn) == weights_of(real)
    with PAPER:
        found = training(drawn, **PASS)
    measured = training(real, **PASS)
    assert (found.activations, found.logits) == pytest.approx((measured.activations, measured.logits), rel=0.02)
    slabs = slabs_for(32, 20)
    with PAPER:
        sampled = sampling(drawn, slabs, prompts=4, rows=8)
    measured_too = sampling(real, slabs, prompts=4, rows=8)
    assert sampled.cache == measured_too.cache
    assert sampled.rest == pytest.approx(measured_too.rest, rel=0.02)


def test_activations_and_logits_grow_with_the_tokens_and_checkpointing_keeps_fewer() -> None:
    with PAPER:
        one = training(on_paper(), **PASS)
        two = training(on_paper(), **{**PASS, "rows": 12})
        less = training(on_paper(gradient_checkpointing=True), **PASS)
        with_entropy = training(on_paper(), **{**PASS, "entropy": True})
    assert two.activations == pytest.approx(2 * one.activations, rel=0.01)
    assert two.logits > 1.5 * one.logits
    assert less.activations < one.activations / 3
    assert with_entropy.logits >= one.logits


def test_weights_that_train_are_told_from_frozen_ones_and_narrow_ones_have_copies() -> None:
    whole, adapters = weights_of(on_paper()), weights_of(on_paper(lora=Lora(rank=4)))
    narrow = weights_of(on_paper(dtype="bfloat16"))
    assert (whole.whole, whole.trained, whole.beside) == (whole.optimized, whole.optimized, 0)
    assert adapters.trained < whole.trained / 10 and adapters.whole == whole.whole + adapters.trained
    assert (narrow.whole * 2, narrow.beside, narrow.optimized) == (whole.whole, whole.whole, whole.whole)


@pytest.mark.parametrize(("width", "steps"), [(16, 1), (16, 48), (16, 64), (16, 65), (32, 66), (16, 300), (48, 1000)])
def test_slabs_grow_as_the_engines_do(width: int, steps: int) -> None:
    """One column for each token but the last, which is never fed back."""
    layer, sizes = SlabLayer(), []
    layer.update(torch.zeros(1, 1, width, 1), torch.zeros(1, 1, width, 1))
    layer = layer.rows(torch.tensor([0]))
    for _ in range(steps - 1):
        layer.update(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1))
        sizes.append(layer.slabs[0].shape[2])
    found = slabs_for(width, steps)
    assert found.last == max(sizes, default=width + 64) >= width + steps - 1
    assert found.before_last == max({0, *sizes} - {found.last})


def test_the_engine_itself_holds_no_more_than_is_reckoned() -> None:
    """Greedily, so that some rows may end early: then it holds less."""
    module = load("strop:tiny", dtype="float32", device="cpu")
    with PAPER:
        found = sampling(on_paper(), slabs_for(16, 30), prompts=12, rows=12)
    tokenizer = type("Tokenizer", (), {"eos_token_id": 2, "decode": lambda *a, **k: ""})()
    requests = [Request(draw=i, prompt_ids=(5, 6, 7, 8, 9), completions=1) for i in range(12)]
    with Held() as held:
        held.count(list(module.parameters()))
        before = held.restart()
        list(HFEngine(module, tokenizer, rows=12).sample(requests, Sampling(30, 0.0, 0, "eval")))
    assert 0.5 * (found.cache + found.rest) < held.peak - before <= 1.02 * (found.cache + found.rest)


def test_a_micro_batch_is_whole_sequences_whose_last_tokens_train() -> None:
    micro = passes.micro_batch(2, 5, 3)
    assert micro.row_n.tolist() == [0, 0, 0, 1, 1, 1]
    assert micro.column_n.tolist() == [2, 3, 4, 2, 3, 4]
    assert micro.padded_tokens == micro.real_tokens == 10
