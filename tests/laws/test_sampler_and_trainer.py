"""Sampler and trainer agree: what the engine says a token's log-prob was, the policy finds again in a padded batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from strop.algorithms import algorithm
from strop.batch.build import Batch, build
from strop.batch.split import MicroBatch, pack
from strop.policy.model import Policy
from strop.rollout.engine import Sampling
from strop.rollout.engine_hf import HFEngine
from strop.types import Group, Prompt, Rollout
from tests.rollout.conftest import ARCHITECTURES, EOS, randomized
from tests.rollout.engines import requests

BOUND = 1e-5
"""Nats, in fp32: a cached decoding step and a whole forward round differently (2e-6 at most in these models)."""


ENDS = (EOS, *range(180, 200))
"""Many end tokens, so that some completions end early and others do not."""


class NoText:
    """A tokenizer for tests that look at ids only."""

    eos_token_id = EOS

    def decode(self, ids: Any, **_: Any) -> str:
        return ""


def sampled(module: Any, temperature: float) -> list[Group]:
    """Groups of prompts of unequal length; the scores alternate, so that every group has signal."""
    asked = requests(completions=4)
    engine = HFEngine(module, NoText(), rows=8, eos_ids=ENDS)
    stream = engine.sample(asked, Sampling(max_tokens=24, temperature=temperature, seed=3))
    return [
        Group(one.draw, Prompt(f"p{one.draw}", "?"), one.prompt_ids, tuple(map(Rollout, got, (0.0, 1.0, 0.0, 1.0))))
        for one, got in zip(asked, stream, strict=True)
    ]


def padded_parts(batch: Batch) -> list[MicroBatch]:
    """Micro-batches in which long rows stand beside short ones, so that most rows are padded."""
    rows = range(len(batch.ids_S))
    return [pack(batch, rows[first::3]) for first in range(3)]


@pytest.mark.parametrize("temperature", [0.7, 1.0])
@pytest.mark.parametrize("name", list(ARCHITECTURES))
def test_the_sampler_and_the_trainer_give_a_token_the_same_log_prob(name: str, temperature: float) -> None:
    """To 1e-5 nats in fp32, at the sampling temperature, whatever the padding."""
    module = randomized(ARCHITECTURES[name]())
    groups = sampled(module, temperature)
    [batch] = build(groups, algorithm("dapo"))
    parts = padded_parts(batch)
    assert any(part.padded_tokens > part.real_tokens for part in parts)
    policy, seen = Policy(module, temperature), 0
    for part in parts:
        with torch.no_grad():
            logp_n, _ = policy.score(part, with_entropy=False)
        assert float((logp_n - batch.sampler_logp_N[part.index_n]).abs().max()) <= BOUND
        seen += len(logp_n)
    completions = [rollout.completion for group in groups for rollout in group.rollouts]
    assert seen == sum(completion.tokens for completion in completions)
    assert {completion.finish for completion in completions} == {"stop", "length"}


def test_a_trainer_at_another_temperature_is_found_out() -> None:
    module = randomized(ARCHITECTURES["llama"]())
    [batch] = build(sampled(module, 0.7), algorithm("dapo"))
    [part, *_] = padded_parts(batch)
    with torch.no_grad():
        logp_n, _ = Policy(module, 1.0).score(part, with_entropy=False)
    assert float((logp_n - batch.sampler_logp_N[part.index_n]).abs().max()) > 1000 * BOUND
