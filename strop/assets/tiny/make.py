"""Makes `strop:tiny` from nothing: `make tiny`, or `python -m strop.assets.tiny.make [OUT_FOLDER]`, seeded throughout.

A character-level Llama learns to imitate the imperfect demonstrations of demonstrations.py by plain supervised
training. It sees training problems only, one size less than the task asks for. Sums modulo 10 give no hint before all
three of their parts are put together, so a network sits at chance for a long time; the digits that are added therefore
grow from 0-1 to 0-9 over the first part of the training, and each new one is learned from those before.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from tokenizers.processors import TemplateProcessing
from torch.nn.functional import cross_entropy
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from strop.assets.tiny.demonstrations import SIZES, demonstration
from strop.tasks.arithmetic import problem, solve

SPECIAL = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>"}
CHARACTERS = "0123456789+-=.#?"
SEED = 20261130
STEPS, WARMUP, ROWS = 1500, 100, 128
PEAK_RATE, FLOOR = 2e-3, 0.02
STEPS_PER_DIGIT = 40
IGNORED = -100


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One token a character; a text is encoded with exactly one <bos> before it."""
    vocabulary = {token: number for number, token in enumerate([*SPECIAL.values(), *CHARACTERS])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=SPECIAL["pad_token"]))
    tokenizer.pre_tokenizer = Split(Regex("."), behavior="isolated")
    bos = ("<bos>", vocabulary["<bos>"])
    tokenizer.decoder = Fuse()
    tokenizer.post_processor = TemplateProcessing(single="<bos> $A", special_tokens=[bos])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **SPECIAL)


def make_model(vocabulary: int) -> LlamaForCausalLM:
    """0.64M parameters: 3 layers, width 128, 4 heads, tied embeddings."""
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        initializer_range=0.08,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return LlamaForCausalLM(config)


def largest_digit(step: int) -> int:
    """The largest digit that is added or subtracted in the demonstrations of this step."""
    return min(9, 1 + step // STEPS_PER_DIGIT)


def draw_batch(rng: random.Random, tokenizer: PreTrainedTokenizerFast, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and labels of a batch of demonstrations, right-padded; only the demonstrated completions are learned."""
    ids: list[torch.Tensor] = []
    labels: list[torch.Tensor] = []
    for _ in range(ROWS):
        text = problem(rng, rng.choice(SIZES), held_out=False, largest=largest_digit(step))
        shown, ends = demonstration(rng, text, solve(text))
        prompt = tokenizer.encode(text)
        completion = tokenizer.encode(shown, add_special_tokens=False) + [tokenizer.eos_token_id] * ends
        ids.append(torch.tensor(prompt + completion))
        labels.append(torch.tensor([IGNORED] * len(prompt) + completion))
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(ids, batch_first=True), pad(labels, batch_first=True, padding_value=IGNORED)


def learning_rate(step: int, steps: int) -> float:
    cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
    return PEAK_RATE * min(1.0, (step + 1) / WARMUP) * (FLOOR + (1 - FLOOR) * cosine)


def imitate(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, steps: int) -> None:
    """Supervised training on fresh demonstrations, `steps` batches of them."""
    rng = random.Random(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, betas=(0.9, 0.95), weight_decay=0.1)
    began = time.monotonic()
    for step in range(steps):
        ids, labels = draw_batch(rng, tokenizer, step)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps)
        logits = model(input_ids=ids).logits[:, :-1]
        loss = cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step == steps - 1:
            left = (time.monotonic() - began) / (step + 1) * (steps - step - 1)
            print(f"step {step:5d} of {steps}   loss {loss.item():.4f}   {left / 60:.0f} minutes left", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the embedded policy strop:tiny.")
    parser.add_argument("out", type=Path, nargs="?", default=Path(__file__).parent)
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    tokenizer = make_tokenizer()
    model = make_model(len(tokenizer))
    imitate(model, tokenizer, arguments.steps)
    model.generation_config = GenerationConfig(pad_token_id=0, bos_token_id=1, eos_token_id=2)
    model.half().save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters in {arguments.out}")


if __name__ == "__main__":
    main()
