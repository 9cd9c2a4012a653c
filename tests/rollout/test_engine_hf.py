"""Sampling from any causal model of transformers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from strop.errors import ConfigError, NumericsError
from strop.packing import unpacked_floats, unpacked_ints
from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_draws import steady
from strop.rollout.engine_hf import HFEngine
from tests.rollout.engines import EOS, PROMPTS, exact, requests, same, sample, watched


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_sampler_and_a_plain_forward_of_each_row_agree_on_log_probs(
    any_model: Any, words: Any, temperature: float
) -> None:
    groups = sample(HFEngine(any_model, words), requests(), temperature=temperature)
    for request, group in zip(requests(), groups, strict=True):
        for completion in group:
            every = exact(any_model, request.prompt_ids, completion.ids, temperature)
            expected = every.gather(-1, torch.tensor(completion.ids)[:, None])[:, 0]
            assert completion.tokens == len(completion.sampler_logp)
            assert torch.allclose(torch.tensor(completion.sampler_logp), expected, rtol=0, atol=1e-5)


def test_the_most_likely_tokens_of_each_position_are_recorded_when_asked_for(any_model: Any, words: Any) -> None:
    """Through strop's own loop and through generate; the completions are those of a sampler that records nothing."""
    engine = HFEngine(any_model, words)
    groups = sample(engine, requests(), topk=4)
    assert same(groups, sample(engine, requests()))
    for request, group in zip(requests(), groups, strict=True):
        for completion in group:
            every = exact(any_model, request.prompt_ids, completion.ids)
            ids = torch.tensor(unpacked_ints(completion.top_ids)).long().reshape(-1, 4)
            logp = torch.tensor(unpacked_floats(completion.top_logp)).reshape(-1, 4)
            assert torch.allclose(logp, every.gather(-1, ids), rtol=0, atol=1e-5)
            assert torch.allclose(logp, every.topk(4).values, rtol=0, atol=1e-5)


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_token_frequencies_pass_a_chi_square_test(any_model: Any, words: Any, temperature: float) -> None:
    count = 4000
    engine = HFEngine(any_model, words, rows=1000)
    prompt = PROMPTS[2]
    [group] = sample(engine, [Request(0, prompt, count)], max_tokens=2, temperature=temperature)
    first = [completion.ids[0] for completion in group]
    assert chi_square_passes(first, exact(any_model, prompt, [EOS], temperature)[0])
    common = max({i for i in first if i != EOS}, key=first.count)
    second = [completion.ids[1] for completion in group if completion.ids[0] == common]
    assert len(second) > 60
    assert chi_square_passes(second, exact(any_model, (*prompt, common), [EOS], temperature)[0])


def chi_square_passes(tokens: Sequence[int], logp_V: torch.Tensor) -> bool:
    """Whether token counts fit the distribution at the level 1e-4. Neighbours share a bin until 8 tokens are expected.

    The critical value is Wilson and Hilferty's: df * (1 - 2/(9 df) + z * sqrt(2/(9 df)))^3, z = 3.719.
    """
    expected_V = logp_V.double().exp().numpy() * len(tokens)
    bins, held = [], 0.0
    for expected in expected_V:
        held = held + expected if held < 8 else expected
        bins.append(bins[-1] + (held == expected) if bins else 0)
    bin_V = np.minimum(bins, bins[-1] - 1)  # the last bin may be short of tokens
    expected, seen = np.bincount(bin_V, expected_V), np.bincount(bin_V[list(tokens)], minlength=bin_V[-1] + 1)
    df = len(expected) - 1
    critical = df * (1 - 2 / (9 * df) + 3.719 * math.sqrt(2 / (9 * df))) ** 3
    assert df > 2
    assert expected.min() >= 8
    return bool(((seen - expected) ** 2 / expected).sum() < critical)


def test_the_chi_square_test_can_fail(model: Callable[[str], Any], words: Any) -> None:
    llama = model("llama")
    [group] = sample(HFEngine(llama, words, rows=1000), [Request(0, PROMPTS[2], 4000)], max_tokens=1, temperature=0.7)
    assert not chi_square_passes([c.ids[0] for c in group], exact(llama, PROMPTS[2], [EOS], 1.0)[0])


def test_completions_do_not_depend_on_rows_order_or_company(any_model: Any, words: Any) -> None:
    asked = requests(completions=4)
    whole = sample(HFEngine(any_model, words), asked)
    for rows in (1, 3, 9):
        assert same(sample(HFEngine(any_model, words, rows=rows), asked), whole)
    assert same(sample(HFEngine(any_model, words), asked[::-1])[::-1], whole)
    alone = [group for request in asked for group in sample(HFEngine(any_model, words), [request])]
    assert same(alone, whole)


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in {"AVX2", "AVX512"} or torch.get_num_threads() > 1,
    reason="threads divide a product by its size; measured on x86 only",
)
def test_log_probs_have_the_same_bits_in_every_batch(any_model: Any, words: Any) -> None:
    rng = np.random.default_rng(0)
    asked = requests(4, [tuple(rng.integers(3, 200, length).tolist()) for length in (1, 31, 16, 40, 15)])
    whole = sample(HFEngine(any_model, words), asked, max_tokens=20)
    for rows in (3, 9):
        assert sample(HFEngine(any_model, words, rows=rows), asked, max_tokens=20) == whole
    assert sample(HFEngine(any_model, words), asked[::-1], max_tokens=20)[::-1] == whole


def test_another_seed_stream_or_draw_gives_other_completions(model: Callable[[str], Any], words: Any) -> None:
    engine = HFEngine(model("llama"), words)
    asked = [Request(0, PROMPTS[0], 2)]
    ids = {
        completion.ids
        for sampling in ({}, {"seed": 1}, {"stream": "evaluate"})
        for group in sample(engine, asked, **sampling)
        for completion in group
    }
    ids |= {completion.ids for completion in sample(engine, [Request(1, PROMPTS[0], 2)])[0]}
    assert len(ids) == 8


@pytest.mark.parametrize("rows", [256, 12, 5])
def test_a_prompt_is_forwarded_once_and_not_once_for_each_completion(any_model: Any, words: Any, rows: int) -> None:
    asked = requests(completions=6)
    with watched(any_model) as shapes:
        sample(HFEngine(any_model, words, rows=rows, eos_ids=()), asked, max_tokens=3)
    prefills = [shape for shape in shapes if shape[1] > 1]
    assert sum(count for count, _ in prefills) == len(asked)
    assert all(width == 16 for _, width in prefills)
    assert {count for count, width in shapes if width == 1} == {256: {30}, 12: {12, 8}, 5: {8, 4}}[rows]


def test_finished_rows_are_not_stepped(any_model: Any, words: Any) -> None:
    ends = range(2, 30)
    with watched(any_model) as shapes:
        [group] = sample(HFEngine(any_model, words, eos_ids=ends), [Request(0, PROMPTS[0], 60)], max_tokens=30)
    lengths = [completion.tokens for completion in group]
    stepped = [count for count, width in shapes if width == 1]
    assert len(stepped) == max(lengths) - 1
    for step, count in enumerate(stepped, start=1):
        live = sum(length > step for length in lengths)
        assert count <= max(steady(live), live / 0.75)
    assert sum(stepped) < 0.6 * 60 * len(stepped)


def test_several_end_tokens_each_end_a_completion(any_model: Any, words: Any) -> None:
    ends = {EOS, *range(50, 70)}
    groups = sample(HFEngine(any_model, words, eos_ids=tuple(ends)), requests(completions=8))
    completions = [completion for group in groups for completion in group]
    assert {completion.finish for completion in completions} == {"stop", "length"}
    for completion in completions:
        assert not ends & set(completion.ids[:-1])
        assert (completion.finish == "stop") == (completion.ids[-1] in ends)
        assert completion.finish == "stop" or completion.tokens == 12


def test_an_end_token_at_the_last_step_is_a_stop(model: Callable[[str], Any], words: Any) -> None:
    with watched(model("llama"), lambda step, logits: logits[:, EOS].fill_(1e4) if step == 2 else None):
        [[completion]] = sample(HFEngine(model("llama"), words), [Request(0, (5, 6), 1)], max_tokens=3)
    assert (completion.finish, completion.tokens, completion.ids[-1]) == ("stop", 3, EOS)


def test_an_immediate_end_is_a_completion_of_one_token_and_no_text(any_model: Any, words: Any) -> None:
    """Report B47, minimum length 0."""
    # https://github.com/vllm-project/vllm/pull/32163
    with watched(any_model, lambda step, logits: logits[:, 7].fill_(1e4)) as shapes:
        [group] = sample(HFEngine(any_model, words, eos_ids=(2, 7)), [Request(0, PROMPTS[0], 3)])
    assert [(c.ids, c.text, c.finish, c.sampler_logp) for c in group] == [((7,), "", "stop", (0.0,))] * 3
    assert len(shapes) == 1


def test_greedy_takes_the_first_of_equal_maxima_and_every_completion_is_the_same(
    model: Callable[[str], Any], words: Any
) -> None:
    def tie(step: int, logits: torch.Tensor) -> None:
        logits[:] = 1.0
        logits[:, [40, 30]] = 2.0

    with watched(model("llama"), tie):
        [group] = sample(HFEngine(model("llama"), words), [Request(0, PROMPTS[0], 5)], temperature=0.0, max_tokens=2)
    assert {completion.ids for completion in group} == {(30, 30)}
    expected = 1.0 - math.log(198 + 2 * math.e)
    assert all(math.isclose(logp, expected, abs_tol=1e-5) for c in group for logp in c.sampler_logp)


def test_text_is_of_the_whole_completion_and_ids_are_never_encoded_again(
    model: Callable[[str], Any], chat: Callable[..., Any]
) -> None:
    """Report B41: a character of four bytes in two tokens, and a completion cut between them."""
    # https://github.com/huggingface/trl/issues/5224
    tokenizer = chat()
    script = tokenizer.convert_tokens_to_ids(list("ðŁĺĢ"))
    llama = copy.deepcopy(model("llama"))
    llama.resize_token_embeddings(len(tokenizer))

    def say(step: int, logits: torch.Tensor) -> None:
        logits[:, script[step]] = 1e4

    texts = {}
    for tokens in (4, 2):
        with watched(llama, say):
            [[completion]] = sample(HFEngine(llama, tokenizer), [Request(0, (5,), 1)], max_tokens=tokens)
        assert completion.ids == tuple(script[:tokens])
        assert len(completion.sampler_logp) == tokens
        texts[tokens] = completion.text
    assert texts[4] == "\U0001f600"
    assert "\ufffd" in texts[2]


def test_completions_carry_the_version_of_the_weights(model: Callable[[str], Any], words: Any) -> None:
    engine = HFEngine(model("llama"), words)
    versions = [sample(engine, requests(1))[0][0].version]
    engine.load(3)
    versions.append(sample(engine, requests(1))[0][0].version)
    assert versions == [0, 3]


def test_groups_are_sampled_when_they_are_read(model: Callable[[str], Any], words: Any) -> None:
    engine = HFEngine(model("llama"), words, rows=6)
    with watched(model("llama")) as shapes:
        stream = engine.sample(requests(completions=3), Sampling(max_tokens=2))
        assert not shapes
        next(stream)
        next(stream)
        assert len(shapes) == 2
        next(stream)
        assert len(shapes) == 4


def test_progress_counts_finished_completions_up_to_all(model: Callable[[str], Any], words: Any) -> None:
    seen: list[tuple[int, int]] = []
    engine = HFEngine(model("llama"), words, rows=7, eos_ids=range(2, 30))
    list(
        engine.sample(requests(completions=9), Sampling(max_tokens=12), lambda done, total: seen.append((done, total)))
    )
    done = [step for step, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (45, 45)
    assert {total for _, total in seen} == {45}


def test_logits_that_are_not_finite_are_an_error(model: Callable[[str], Any], words: Any) -> None:
    broken = copy.deepcopy(model("llama"))
    with torch.no_grad():
        broken.lm_head.weight[5] = float("nan")
    with pytest.raises(NumericsError, match="not finite"):
        sample(HFEngine(broken, words), requests())


def test_a_batch_holds_a_row_or_more(model: Callable[[str], Any], words: Any) -> None:
    with pytest.raises(ConfigError, match="rows must be at least 1, not 0"):
        HFEngine(model("llama"), words, rows=0)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_the_attention_implementation_changes_nothing(model: Callable[[str], Any], words: Any, attention: str) -> None:
    other = copy.deepcopy(model("gemma3"))
    other.set_attn_implementation(attention)
    expected = sample(HFEngine(model("gemma3"), words), requests())
    found = sample(HFEngine(other, words), requests())
    assert [c.ids for group in found for c in group] == [c.ids for group in expected for c in group]


def test_bfloat16_weights_sample_with_float32_log_probs(model: Callable[[str], Any], words: Any) -> None:
    half = copy.deepcopy(model("llama")).to(torch.bfloat16)
    groups = sample(HFEngine(half, words), requests())
    for request, group in zip(requests(), groups, strict=True):
        for completion in group:
            expected = exact(half, request.prompt_ids, completion.ids).gather(-1, torch.tensor(completion.ids)[:, None])
            assert torch.allclose(torch.tensor(completion.sampler_logp), expected[:, 0], rtol=0, atol=0.1)
