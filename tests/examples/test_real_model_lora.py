"""A real 135M-parameter model on reasoning-gym's problems, through its chat template: adapters, then every weight.

What is exported is opened by plain transformers and writes the greedy text of the checkpoint.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from strop.cli.main import run
from strop.run.store import read_rows

QUESTION = "What is 7 + 4? Answer with a number."
REWARD = """
import zlib

def score(prompt, completion, **columns):
    return zlib.crc32(completion.encode()) % 7 / 6
"""
"""Any spread will do: two or three steps on a few tokens teach nothing, but every weight must move."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(540), pytest.mark.xdist_group("real model")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs go, with a reward of our own."""
    made = tmp_path_factory.mktemp("real")
    (made / "reward.py").write_text(REWARD)
    return made


def trained(model: Path, folder: Path, name: str, steps: int, **train: Any) -> Path:
    config = {
        "model": str(model),
        "task": {
            "kind": "reasoning_gym",
            "name": "chain_sum",
            "data": {"settings": {"instruction": "", "size": 20}},
            "reward": f"{folder / 'reward.py'}:score",
            "solved": 2.0,
        },
        "rollout": {"prompts": 1, "completions": 4, "max_tokens": 8, "filter": "none", "temperature": 2.0},
        "train": {"steps": steps, "warmup_steps": 0, "tokens_per_micro_batch": 512, **train},
        "eval": {"prompts": 1, "completions": 1},
        "runs": str(folder),
        "run": name,
    }
    (folder / f"{name}.yaml").write_text(json.dumps(config))
    assert run(["train", str(folder / f"{name}.yaml")]) == 0
    rows = read_rows(folder / name / "metrics.jsonl")
    assert len(rows) == steps and all(row["grad_norm"] > 0 for row in rows)
    return folder / name


def greedy(module: Any, tokenizer: Any) -> tuple[str, torch.Tensor]:
    """The text of 12 tokens after the question in its chat template, and the first logits."""
    turns = [{"role": "user", "content": QUESTION}]
    asked = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    out = module.generate(**asked, max_new_tokens=12, do_sample=False)
    with torch.no_grad():
        return tokenizer.decode(out[0]), module(**asked).logits[0, -1]


@pytest.mark.parametrize(
    ("name", "steps", "train"),
    [("adapters", 3, {"learning_rate": 1e-3, "lora": {"rank": 8, "alpha": 16}}), ("whole", 2, {"learning_rate": 1e-5})],
)
def test_a_real_model_trains_and_what_is_exported_writes_its_greedy_text(
    name: str, steps: int, train: dict[str, Any], real_model: Path, folder: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from strop.policy.model import load, load_tokenizer

    made = trained(real_model, folder, name, steps, **train)
    assert run(["export", str(made), str(folder / f"{name}-out")]) == 0
    checkpoint = str(made / "checkpoints" / f"step-{steps:06d}")
    text, logits = greedy(load(checkpoint, dtype="float32", device="cpu"), load_tokenizer(checkpoint))
    opened = AutoModelForCausalLM.from_pretrained(folder / f"{name}-out")
    theirs, same = greedy(opened, AutoTokenizer.from_pretrained(folder / f"{name}-out"))
    assert theirs == text and "<|im_start|>assistant" in text and QUESTION in text
    assert torch.allclose(same, logits, rtol=0, atol=1e-3)
    _, before = greedy(load(str(real_model), dtype="float32", device="cpu"), load_tokenizer(checkpoint))
    assert float((before - logits).abs().max()) > 1e-2
    card = (folder / f"{name}-out" / "README.md").read_text()
    assert (
        "`reasoning_gym, chain_sum`" in card
        and "SHA-256" in card
        and str(folder) not in card
        and str(real_model) not in card
    )
