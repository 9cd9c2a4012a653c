"""Loading: what is found, what is refused, dropout off, and log-probs in fp32 or wider."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from strop.algorithms import algorithm
from strop.assets.tiny.make import make_tokenizer
from strop.batch.build import build
from strop.batch.split import split
from strop.errors import ConfigError
from strop.policy.model import Policy, load, locate, write
from tests.learner import VOCABULARY, ragged_groups, tiny_llama


@pytest.mark.parametrize(
    "name, says",
    [
        ("./nowhere", "there is no folder ./nowhere"),
        ("/nowhere/at/all", "there is no folder"),
        ("strop:huge", "strop has strop:tiny"),
    ],
)
def test_a_model_that_is_not_there_is_one_line_with_what_to_name_instead(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        locate(name)


def test_a_folder_without_a_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no config.json"):
        load(str(tmp_path), dtype="float32", device="cpu")


def test_pickled_weights_are_not_read(tmp_path: Path) -> None:
    tiny_llama().config.save_pretrained(tmp_path)
    make_tokenizer().save_pretrained(tmp_path)
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="cannot load"):
        load(str(tmp_path), dtype="float32", device="cpu")


def test_a_written_model_loads_with_the_same_numbers_and_without_dropout(tmp_path: Path) -> None:
    config = GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=1, n_head=2, n_positions=32, bos_token_id=1)
    config.eos_token_id = 2
    module = GPT2LMHeadModel(config)
    write(module, make_tokenizer(), tmp_path)
    loaded = load(str(tmp_path), dtype="float32", device="cpu", gradient_checkpointing=True)
    assert loaded.training
    ids = torch.tensor([[1, 5, 6]])
    assert torch.equal(loaded(input_ids=ids).logits, module.eval()(input_ids=ids).logits)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_log_probs_are_fp32_or_wider(dtype: torch.dtype) -> None:
    [batch] = build(ragged_groups((2,)), algorithm("dapo"))
    [micro, *_] = split(batch, tokens=100)
    logp_n, entropy_n = Policy(tiny_llama(dtype=dtype)).score(micro)
    assert logp_n.dtype == entropy_n.dtype == torch.promote_types(dtype, torch.float32)


def test_a_token_that_the_model_rules_out_adds_no_entropy_and_no_nan() -> None:
    module = tiny_llama()
    head = module.lm_head.forward
    ruled_out = torch.zeros(VOCABULARY, dtype=torch.float64).index_fill(0, torch.tensor([0]), float("-inf"))
    module.lm_head.forward = lambda hidden: head(hidden) + ruled_out  # type: ignore[method-assign]
    [batch] = build(ragged_groups((2,)), algorithm("dapo"))
    [micro, *_] = split(batch, tokens=100)
    _, entropy_n = Policy(module).score(micro, entropy_gradient=True)
    entropy_n.sum().backward()
    assert bool(entropy_n.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in module.parameters() if p.grad is not None)
