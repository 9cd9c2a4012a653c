"""The batches that a check is made on: groups, the models that scored them, and the settings they are built with.

`hard` is made to go wrong: prompts of 1 to 9 tokens, completions of 1 to 30, groups of 1 to 6, masked sequences, a
group that is wholly masked, a group without spread; old, sampler and reference log-probs that differ from the policy's,
so that the bounds of a row bind. `few` has three sequences that train: of four ranks one has no work.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import nn

from strop.check.plain import distributions, of_tokens
from strop.check.wide import widen
from strop.packing import packed_floats, packed_ints
from strop.policy.lora import OFF, Lora
from strop.policy.model import load, random_model
from strop.types import Completion, Group, Prompt, Rollout

VOCABULARY = 29
POSITIONS = 48
LONGEST = 30
"""Tokens of the longest completion of a made batch, and what a constant mean divides by."""
LENGTHS = (1, 1, 2, 3, 5, 8, 13, 21)
TEMPERATURE = 0.8
OLD_MOVED, REFERENCE_MOVED = 0.05, 0.08
"""How far the weights of old and reference lie from the policy's, as a share of each tensor's size."""
ZERO = 0.1
NOISE, SURE, UNSURE, ONE_IN = 0.1, -0.4, -7.0, 8
"""The sampler's log-probs: those of old with so many nats of noise; one token in so many far too sure, or unsure."""
TOP = 3
"""How many of its most likely tokens the sampler tells at each position."""


class Models(NamedTuple):
    """What is trained, what wrote the batch, and the frozen reference; some of them may be one module."""

    policy: nn.Module
    old: nn.Module
    reference: nn.Module

    def to(self, dtype: torch.dtype, device: str = "") -> Models:
        """Copies in another dtype; in float64 nothing inside them is narrower."""
        copies = {id(module): copy.deepcopy(module).to(dtype) for module in self}
        for module in copies.values():
            if device:
                module.to(device)
            if dtype is torch.float64:
                widen(module)
        return Models(*(copies[id(module)] for module in self))


@dataclass(frozen=True, slots=True)
class Case:
    """A rollout batch to be checked: the first of its `updates` optimizer batches is.

    `model` names what the models were loaded from, "" is the made one; `lora` are the adapters that they were given.
    """

    name: str
    groups: tuple[Group, ...]
    models: Models
    temperature: float = TEMPERATURE
    updates: int = 1
    mask_truncated: bool = True
    model: str = ""
    lora: Lora = OFF

    @property
    def first(self) -> tuple[Group, ...]:
        """The groups of the first optimizer batch: as many as of every other, or one less."""
        return self.groups[: max(1, len(self.groups) // self.updates)]

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence that trains, its prompt included."""
        return max(len(group.prompt_ids) + rollout.completion.tokens for _, group, rollout in self.live)

    @property
    def live(self) -> list[tuple[int, Group, Rollout]]:
        """The sequences that train, each with the number of its group."""
        every = [(i, group, rollout) for i, group in enumerate(self.first) for rollout in group.rollouts]
        return [one for one in every if self.trains(one[2])]

    def trains(self, rollout: Rollout) -> bool:
        return not (rollout.error or self.mask_truncated and rollout.completion.truncated)


def hard(seed: int = 0) -> Case:
    """24 sequences in 7 groups, 18 of them live."""
    return made("hard", ((4, 1), (1, 0), (6, 2), (3, 0), (2, 2), (5, 1), (3, 0)), seed=seed)


def few(seed: int = 3) -> Case:
    """3 live sequences of 6, and a group that is wholly masked."""
    return made("few", ((2, 0), (2, 2), (2, 1)), seed=seed)


def made(name: str, sizes: Sequence[tuple[int, int]], *, seed: int) -> Case:
    """A case of groups of these (completions, truncated among them); the last has no spread if it has no truncated."""
    rng = random.Random(f"{name}/{seed}")
    groups = [made_group(rng, draw, *size, flat=draw == len(sizes) - 1) for draw, size in enumerate(sizes)]
    policy = blank("", seed=seed)
    models = Models(policy, nudged(policy, OLD_MOVED, seed=1), nudged(policy, REFERENCE_MOVED, seed=2))
    return Case(name, tuple(sampled(groups, models.old, rng)), models)


def blank(model: str, *, seed: int = 0, lora: Lora = OFF) -> nn.Module:
    """The model that a case names, on the CPU; "" is the made one with random weights."""
    if model:
        return load(model, dtype="float32", device="cpu", lora=lora)
    return random_model(seed=seed, vocabulary=VOCABULARY, positions=POSITIONS)


def made_group(rng: random.Random, draw: int, completions: int, truncated: int, *, flat: bool) -> Group:
    prompt = tuple(rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(1, 10)))
    rollouts: list[Rollout] = []
    for i in range(completions):
        cut_off = i < truncated
        tokens = LONGEST if cut_off else rng.choice(LENGTHS)
        ids = tuple(rng.randrange(3, VOCABULARY) for _ in range(tokens))
        completion = Completion(ids, (0.0,) * tokens, "", "length" if cut_off else "stop", 0)
        rollouts.append(Rollout(completion, 1.0 if flat else float(i % 2), 0.0 if flat else -0.25 * rng.random()))
    return Group(7 * draw, Prompt(f"p{draw}", "?"), prompt, tuple(rollouts))


def nudged(module: nn.Module, size: float, *, seed: int) -> nn.Module:
    """A copy in which every trained tensor is moved in a random direction by `size` times its own norm.

    One that is 0, as half of an adapter is at first, moves by `size` times the norm of values of 0.1.
    """
    twin = copy.deepcopy(module)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in [weight for weight in twin.parameters() if weight.requires_grad]:
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight.device)
            norm = weight.norm() if weight.any() else ZERO * weight.numel() ** 0.5
            weight.add_((noise * (size * norm / noise.norm())).to(weight.dtype))
    return twin


def sampled(groups: Sequence[Group], old: nn.Module, rng: random.Random) -> Iterator[Group]:
    """The groups with log-probs as a sampler would give them: those of `old`, with noise, in float32."""
    for group in groups:
        rollouts = tuple(replace(r, completion=noisy(r.completion, group.prompt_ids, old, rng)) for r in group.rollouts)
        yield replace(group, rollouts=rollouts)


def noisy(completion: Completion, prompt_ids: Sequence[int], old: nn.Module, rng: random.Random) -> Completion:
    with torch.no_grad():
        logp_TV = distributions(old, prompt_ids, completion.ids, TEMPERATURE)
    logp_T, top = of_tokens(logp_TV, completion.ids), logp_TV.topk(TOP)
    told = [rng.choice((SURE, UNSURE)) if rng.randrange(ONE_IN) == 0 else rng.gauss(x, NOISE) for x in logp_T.tolist()]
    sampler_T = torch.tensor(told).clamp(max=-1e-3)
    return replace(
        completion,
        sampler_logp=tuple(sampler_T.tolist()),
        top_ids=packed_ints(top.indices.flatten().tolist()),
        top_logp=packed_floats(top.values.flatten().tolist()),
    )
