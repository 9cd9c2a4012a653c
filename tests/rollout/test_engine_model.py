"""What an engine asks of a model: end tokens, positions, evaluation mode for a while."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from strop.errors import ConfigError, DataError
from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_hf import HFEngine
from tests.rollout.engines import PROMPTS, requests, same, sample


def test_the_generation_config_gives_end_tokens_and_nothing_else(model: Callable[[str], Any], words: Any) -> None:
    plain = sample(HFEngine(model("llama"), words, eos_ids=(2, 50)), requests())
    loaded = copy.deepcopy(model("llama"))
    loaded.generation_config.update(
        eos_token_id=[50], top_k=3, top_p=0.5, temperature=0.3, repetition_penalty=5.0, min_new_tokens=9, do_sample=True
    )
    engine = HFEngine(loaded, words)
    assert engine.eos_ids == (2, 50)
    assert sample(engine, requests()) == plain


def test_a_model_without_an_end_token_is_refused_unless_that_is_said(model: Callable[[str], Any]) -> None:
    endless = copy.deepcopy(model("llama"))
    endless.generation_config.eos_token_id = endless.config.eos_token_id = None
    with pytest.raises(ConfigError, match="no end token: set eos_token_id"):
        HFEngine(endless, tokenizer=object())
    assert HFEngine(endless, tokenizer=object(), eos_ids=()).eos_ids == ()


def test_dropout_is_off_while_sampling_and_each_submodule_is_put_back(model: Callable[[str], Any], words: Any) -> None:
    module = copy.deepcopy(model("gpt2"))
    assert module.config.resid_pdrop > 0
    quiet = sample(HFEngine(module, words), requests())
    module.train()
    module.transformer.h[0].eval()
    modes = [part.training for part in module.modules()]
    stream = HFEngine(module, words).sample(requests(), Sampling(max_tokens=12))
    first = next(stream)
    assert [part.training for part in module.modules()] == modes
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    assert same([first, *stream], quiet)


def test_a_module_trains_on_after_it_was_sampled_from(any_model: Any, words: Any) -> None:
    module = copy.deepcopy(any_model)
    sample(HFEngine(module, words), requests())
    module(input_ids=torch.tensor([PROMPTS[2]])).logits.sum().backward()
    assert all(torch.isfinite(weight.grad).all() for weight in module.parameters() if weight.grad is not None)


def test_a_prompt_that_reaches_beyond_the_positions_of_the_model_is_refused(any_model: Any, words: Any) -> None:
    engine = HFEngine(any_model, words)
    edge = [Request(0, (5,) * 120, 1)]
    assert sample(engine, edge, max_tokens=9)[0][0].tokens <= 9
    with pytest.raises(DataError, match=r"draw 0 has 120 tokens, .* needs 129 positions; the model has 128"):
        sample(engine, edge, max_tokens=10)
