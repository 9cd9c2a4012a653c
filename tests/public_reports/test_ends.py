"""End tokens: several of them, an answer that is nothing but one, and no least length, which log-probs would deny."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import strop
from strop.batch.build import build
from strop.batch.split import split
from strop.config.load import load
from strop.errors import ConfigError
from strop.policy.model import Policy
from strop.policy.name import locate
from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_hf import HFEngine
from strop.rollout.engine_model import end_ids
from strop.rollout.shaping import Overlong
from strop.run.store import read_rows
from strop.types import Group, Prompt, Verdict
from tests.learner import VOCABULARY, tiny_llama

PREFERRED = 7


class Words:
    """A tokenizer of numbers: 2 is its own end token."""

    eos_token_id = 2

    def decode(self, ids: Any, **_: Any) -> str:
        return " ".join(map(str, ids))


def eager(ends: Any) -> Any:
    """A model that always prefers token 7, with these end tokens in its generation config."""
    module = tiny_llama(dtype=torch.float32)
    with torch.no_grad():
        module.lm_head.weight.zero_()
    module.lm_head.register_forward_hook(lambda _, __, logits: logits.index_fill(-1, torch.tensor([PREFERRED]), 50.0))
    module.generation_config.eos_token_id = ends
    return module


@given(st.lists(st.integers(3, VOCABULARY - 1), max_size=4), st.randoms())
def test_every_end_token_of_the_generation_config_and_of_the_tokenizer_counts(others: list[int], rng: Any) -> None:
    ends = [*others, PREFERRED]
    rng.shuffle(ends)
    module = tiny_llama()
    module.generation_config.eos_token_id = ends
    assert end_ids(module, Words()) == tuple(sorted({*ends, 2}))
    module.generation_config.eos_token_id = PREFERRED
    assert end_ids(module, Words()) == (2, PREFERRED)
    module.generation_config.eos_token_id = None
    module.config.eos_token_id = ends
    assert end_ids(module, Words()) == tuple(sorted({*ends, 2}))


@pytest.mark.parametrize("ends", [7, [2, 7], [7, 2, 19]])
def test_an_answer_that_is_an_end_token_alone_is_scored_as_empty_text_and_trained(ends: Any) -> None:
    """Completion [7], length 1, the reward on "", and a finite gradient from it."""
    module = eager(ends)
    engine = HFEngine(module, Words())
    [completions] = engine.sample([Request(0, (5, 6, 9), 4)], Sampling(max_tokens=12))
    assert [(c.ids, c.tokens, c.text, c.finish) for c in completions] == [((7,), 1, "", "stop")] * 4
    verdicts = [Verdict(float(len(c.text) == i % 2)) for i, c in enumerate(completions)]
    rollouts = Overlong(12, 4, 1.0).shape(completions, verdicts)
    assert [(r.score, r.penalty) for r in rollouts] == [(1.0, 0.0), (0.0, 0.0)] * 2
    group = Group(0, Prompt("p", "?"), (5, 6, 9), rollouts)
    [batch] = build([group], strop.algorithm("dapo"))
    assert batch.tokens == 4
    [micro] = split(batch, tokens=100)
    logp_n, _ = Policy(module).score(micro)
    assert torch.allclose(logp_n, batch.sampler_logp_N, atol=1e-5)
    (batch.weight_N * batch.advantage_S[batch.seq_N] * logp_n).sum().backward()
    assert all(bool(weight.grad.isfinite().all()) for weight in module.parameters() if weight.grad is not None)


def test_a_run_whose_every_answer_is_empty_ends_in_good_order(tmp_path: Path) -> None:
    """Every character of the embedded policy ends an answer: completions of one token, rewards of "" alone."""
    model = Path(shutil.copytree(locate("strop:tiny").folder, tmp_path / "model"))
    generation = json.loads((model / "generation_config.json").read_text())
    (model / "generation_config.json").write_text(json.dumps({**generation, "eos_token_id": list(range(1, 19))}))
    (tmp_path / "p.jsonl").write_text("".join(json.dumps({"prompt": f"{i}+1="}) + "\n" for i in range(4)))

    def reward(prompt: str, completion: str, **columns: Any) -> float:
        return float(completion == "")

    run = strop.train(
        {
            "model": str(model),
            "task": {"kind": "jsonl", "file": str(tmp_path / "p.jsonl")},
            "rollout": {"prompts": 4, "completions": 4, "max_tokens": 8, "filter": "none"},
            "train": {"steps": 1},
            "eval": {"prompts": 2, "completions": 2},
            "runs": str(tmp_path),
            "run": "r",
        },
        reward=reward,
    )
    [row] = read_rows(run.folder / "metrics.jsonl")
    assert (row["completions/max_length"], row["completions/clipped_ratio"], row["tokens/trained"]) == (1, 0.0, 16)
    assert (row["accuracy/all"], row["groups/all_right"], row["updates/skipped"]) == (1.0, 0, 0.0)
    rows = pq.read_table(run.folder / "rollouts" / "step-000001.parquet").to_pylist()
    assert len(rows) == 16 and all(one["text"] == "" and len(one["ids"]) == 1 for one in rows)


@pytest.mark.parametrize("key", ["min_tokens", "min_new_tokens"])
def test_a_least_length_is_refused_because_what_was_sampled_would_not_be_what_is_scored(key: str) -> None:
    with pytest.raises(ConfigError, match=f"rollout.{key}.* samples the full distribution"):
        load(mapping={"rollout": {key: 3}})
