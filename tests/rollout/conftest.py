"""Tiny random models of five architectures over 200 tokens, and the tokenizers that go with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

# torch, tokenizers and transformers are imported where they are needed: the other tests here run without them.
VOCABULARY = 200
UNKNOWN, BOS, EOS = 0, 1, 2
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "pad_token_id": EOS,
}


def llama() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**SIZES, num_key_value_heads=2))


def qwen3() -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    return Qwen3ForCausalLM(Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=8))


def gemma3() -> Any:
    """One sliding layer with a window of 5 columns, one full layer."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    layers = ["sliding_attention", "full_attention"]
    config = Gemma3TextConfig(**SIZES, num_key_value_heads=1, head_dim=8, sliding_window=5, layer_types=layers)
    return Gemma3ForCausalLM(config)


def gpt2() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=128, bos_token_id=EOS, eos_token_id=EOS
    )
    return GPT2LMHeadModel(config)


def gpt_neox() -> Any:
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    return GPTNeoXForCausalLM(GPTNeoXConfig(**SIZES))


ARCHITECTURES = {"llama": llama, "qwen3": qwen3, "gemma3": gemma3, "gpt2": gpt2, "gpt_neox": gpt_neox}


def randomized(module: Any, spread: float = 0.15) -> Any:
    """The module with random weights large enough that its distribution is far from flat."""
    import torch

    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.ndim > 1:
                weight.normal_(0.0, spread, generator=generator)
    return module.eval()


@pytest.fixture(scope="session")
def model() -> Callable[[str], Any]:
    made: dict[str, Any] = {}

    def of(name: str) -> Any:
        if name not in made:
            made[name] = randomized(ARCHITECTURES[name]())
        return made[name]

    return of


@pytest.fixture(params=list(ARCHITECTURES))
def any_model(request: pytest.FixtureRequest, model: Callable[[str], Any]) -> Any:
    return model(request.param)


@pytest.fixture(scope="session")
def words() -> Any:
    """200 words, "w3" to "w199"; pad = end token; a start token before raw text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<unk>": UNKNOWN, "<s>": BOS, "</s>": EOS} | {f"w{i}": i for i in range(3, VOCABULARY)}
    plain = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    plain.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BOS)])
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=plain, **names)


CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def chat() -> Callable[..., Any]:
    """A byte-level tokenizer with ChatML's marks, an optional BOS token, and a template of one's own."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import AddedToken, PreTrainedTokenizerFast

    def of(*, bos: str = "", template: str = CHATML, marks_special: bool = True) -> Any:
        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        plain = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
        plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        plain.decoder = decoders.ByteLevel()
        marks = [AddedToken(mark, special=marks_special) for mark in ("<|im_start|>", "<|im_end|>")]
        plain.add_tokens(marks)
        names = {"eos_token": "<|endoftext|>"} | ({"bos_token": bos} if bos else {})
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, **names)
        if bos:
            start = tokenizer.convert_tokens_to_ids(bos)
            tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
                single=f"{bos} $A", special_tokens=[(bos, start)]
            )
        tokenizer.chat_template = template
        return tokenizer

    return of
