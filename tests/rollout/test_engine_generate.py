from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM, MambaConfig, MambaForCausalLM

from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_generate import NoCacheWarning
from strop.rollout.engine_hf import HFEngine
from strop.types import Completion

PROMPTS = ((5, 6, 7), (9,), (11, 12, 13), (20, 2, 22, 2, 24), (3, 4))
ASKED = [Request(draw, ids, 3) for draw, ids in enumerate(PROMPTS)]


class Uncached(LlamaForCausalLM):
    """A model whose forward knows no cache."""

    def forward(self, input_ids: Any, attention_mask: Any = None, **rest: Any) -> Any:  # type: ignore[override]
        kept = {name: value for name, value in rest.items() if name in {"position_ids", "logits_to_keep"}}
        return super().forward(input_ids=input_ids, attention_mask=attention_mask, use_cache=False, **kept)


class Forgetful(LlamaForCausalLM):
    """A model that takes a cache and does not use it."""

    def forward(  # type: ignore[override]
        self, input_ids: Any, attention_mask: Any = None, position_ids: Any = None, cache: Any = None, **rest: Any
    ) -> Any:
        return super().forward(
            input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, use_cache=False
        )


def sample(engine: HFEngine, **sampling: Any) -> list[tuple[Completion, ...]]:
    return list(engine.sample(ASKED, Sampling(**{"max_tokens": 10, **sampling})))


def twin(module: Any, kind: type) -> Any:
    other = copy.deepcopy(module)
    other.__class__ = kind
    return other


def agree(left: list[tuple[Completion, ...]], right: list[tuple[Completion, ...]]) -> bool:
    for group, other in zip(left, right, strict=True):
        for a, b in zip(group, other, strict=True):
            assert (a.ids, a.text, a.finish, a.version) == (b.ids, b.text, b.finish, b.version)
            assert a.sampler_logp == pytest.approx(b.sampler_logp, abs=2e-6)
    return True


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("rows", [256, 2])
def test_a_model_without_a_cache_gives_the_same_completions_with_a_notice(
    model: Callable[[str], Any], words: Any, temperature: float, rows: int
) -> None:
    ends = (2, *range(50, 60))
    expected = sample(HFEngine(model("llama"), words, eos_ids=ends), temperature=temperature)
    with pytest.warns(NoCacheWarning, match="generate, which is slower: its forward takes no cache"):
        engine = HFEngine(twin(model("llama"), Uncached), words, eos_ids=ends, rows=rows)
    assert agree(sample(engine, temperature=temperature), expected)


def test_a_model_that_leaves_its_cache_empty_is_found_out_at_the_first_prompt(
    model: Callable[[str], Any], words: Any
) -> None:
    engine = HFEngine(twin(model("llama"), Forgetful), words)
    with pytest.warns(NoCacheWarning, match="leaves the cache it is given empty"):
        found = sample(engine)
    assert agree(found, sample(HFEngine(model("llama"), words)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert agree(sample(engine), found)


def test_a_recurrent_model_samples_what_its_plain_forward_says(words: Any) -> None:
    config = MambaConfig(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=2,
        state_size=8,
        eos_token_id=2,
        bos_token_id=1,
        pad_token_id=2,
    )
    mamba = MambaForCausalLM(config).eval()
    with pytest.warns(NoCacheWarning, match="MambaForCausalLM"):
        engine = HFEngine(mamba, words, rows=6)
    for request, group in zip(ASKED, sample(engine), strict=True):
        for completion in group:
            row = torch.tensor([[*request.prompt_ids, *completion.ids]])
            with torch.no_grad():
                logits = mamba(input_ids=row, use_cache=False).logits[0, len(request.prompt_ids) - 1 : -1]
            expected = torch.log_softmax(logits, -1).gather(-1, torch.tensor(completion.ids)[:, None])[:, 0]
            assert completion.sampler_logp == pytest.approx(expected.tolist(), abs=1e-5)


def test_the_models_generation_config_has_no_say_and_is_left_alone(model: Callable[[str], Any], words: Any) -> None:
    module = twin(model("llama"), Uncached)
    module.generation_config.update(top_k=2, repetition_penalty=5.0, min_new_tokens=9, suppress_tokens=[30, 31])
    before = module.generation_config.to_dict()
    with pytest.warns(NoCacheWarning):
        engine = HFEngine(module, words)
    assert agree(sample(engine), sample(HFEngine(model("llama"), words)))
    assert module.generation_config.to_dict() == before


def test_progress_counts_up_to_all(model: Callable[[str], Any], words: Any) -> None:
    with pytest.warns(NoCacheWarning):
        engine = HFEngine(twin(model("llama"), Uncached), words, rows=4)
    seen: list[tuple[int, int]] = []
    list(engine.sample(ASKED, Sampling(max_tokens=3), lambda *step: seen.append(step)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (15, 15)


def test_without_end_tokens_every_completion_has_max_tokens(model: Callable[[str], Any], words: Any) -> None:
    with pytest.warns(NoCacheWarning):
        engine = HFEngine(twin(model("llama"), Uncached), words, eos_ids=())
    expected = sample(HFEngine(model("llama"), words, eos_ids=()))
    assert agree(sample(engine), expected)
    assert {completion.finish for group in expected for completion in group} == {"length"}
