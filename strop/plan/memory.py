"""The parts of a run's peak memory, and in which phases each is there.

    always       the program, its data, the weights, Adam's moments
    sampling     + keys and values, and the engine's pass
    training     + gradients, activations, and the logits of a micro-batch
    updating     + gradients, and what AdamW works with
    saving       + a copy of what is saved of the optimizer

Sizes are the largest that the settings allow: completions of rollout.max_tokens after the longest prompt. On a CPU all
of it is the process's; on a GPU the program, its data and what is saved are the host's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from strop.plan.algebra import Algebra, Chunk, chunks
from strop.plan.passes import Sampling, Training, Weights, sampling, slabs_for, training, unnumbered, weights_of
from strop.plan.program import Program
from strop.policy.model import blueprint
from strop.prepare import run_adapters
from strop.rollout.engine_draws import steady
from strop.rollout.engine_hf import ROOM
from strop.rollout.engine_prompts import COLUMNS

PHASES = ("sampling", "training", "updating", "saving")
ADAPTERS = "train adapters in place of the weights, with train.lora.rank 8 or so"
LOWER = {
    "program": "nothing makes it smaller: Python and its libraries take it",
    "data": "give a smaller task.file",
    "reward workers": "lower task.scoring.workers",
    "completions of a step": "lower rollout.prompts, rollout.completions or rollout.max_tokens",
    "weights": "take a smaller model, or set train.dtype bfloat16",
    "float32 copies of the weights": ADAPTERS,
    "Adam's moments": ADAPTERS,
    "reference model": "leave out the KL: objective.regularizers [], or train.lora.rank 8, whose base is the reference",
    "gradients": ADAPTERS,
    "activations": "lower train.tokens_per_micro_batch, or set train.gradient_checkpointing true",
    "logits": "lower train.tokens_per_micro_batch",
    "holes between them": "lower train.tokens_per_micro_batch",
    "AdamW's working copies": ADAPTERS,
    "keys and values": "lower rollout.rows",
    "engine's pass": "lower rollout.rows",
    "copy of what is saved": ADAPTERS,
}
"""Part -> what makes it smaller."""

HOLES = 0.4
"""What a CPU's allocator holds beyond activations and logits, as a share of them: freed tensors leave holes that the
next ones do not fit into. From 0 to 0.9 was measured with glibc 2.36, most with adapters and after many passes."""

TOKEN_HELD = 68 + 24
"""Bytes of a sampled token: an int and a float of Python in two tuples, and its columns of the batch."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that takes memory: bytes, in which phases, and whether a GPU leaves it to the host."""

    name: str
    size: int
    phases: tuple[str, ...] = PHASES
    host: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """The parts that share one memory, the machine's or a GPU's, and what is free of it."""

    name: str
    parts: tuple[Part, ...]
    free: int

    def of(self, phase: str) -> int:
        """Bytes of a phase."""
        return sum(part.size for part in self.parts if phase in part.phases)

    @property
    def peak_phase(self) -> str:
        return max(PHASES, key=self.of)

    @property
    def peak(self) -> int:
        """The most that is needed at once."""
        return self.of(self.peak_phase)

    @property
    def fits(self) -> bool:
        return self.peak <= self.free

    @property
    def largest(self) -> Part:
        """The largest part at the peak."""
        return max((part for part in self.parts if self.peak_phase in part.phases), key=lambda part: part.size)

    def size(self, *names: str) -> int:
        return sum(part.size for part in self.parts if part.name in names)


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured of this machine for a run: its program, its data in bytes, its longest prompt, its device."""

    program: Program
    data: int
    longest_prompt: int
    gpu: bool


@dataclass(frozen=True, slots=True)
class Reckoned:
    """The parts of a run's memory, the sizes of its weights, and the largest batch that its engine decodes at once."""

    parts: tuple[Part, ...]
    weights: Weights
    chunk: Chunk


def reckon(config: Any, counts: Algebra, found: Found) -> Reckoned:
    """The memory of a run. Nothing is loaded."""
    settings = config.train
    columns = (found.longest_prompt // COLUMNS + 1) * COLUMNS
    slabs = slabs_for(columns, config.rollout.max_tokens)
    chunk = max(chunks(config), key=lambda one: one.prompts * (columns + ROOM) + one.rows * slabs.last)
    with torch.device("meta"):
        module = blueprint(
            config.model,
            dtype=settings.dtype,
            gradient_checkpointing=settings.gradient_checkpointing,
            lora=run_adapters(config),
        )
    with FakeTensorMode():
        module = unnumbered(module)
        weights = weights_of(module)
        passed = training(
            module,
            rows=counts.rows,
            tokens=counts.longest,
            completion=config.rollout.max_tokens,
            entropy="entropy" in config.row.reads,
            temperature=config.rollout.temperature,
        )
        sampled = sampling(module.eval(), slabs, prompts=steady(chunk.prompts), rows=steady(chunk.rows))
    completions = Part("completions of a step", counts.tokens * TOKEN_HELD, host=True)
    listed = (*always(config, found, weights), completions, *at_times(found, weights, passed, sampled))
    return Reckoned(tuple(part for part in listed if part.size), weights, chunk)


def always(config: Any, found: Found, weights: Weights) -> list[Part]:
    """The parts that are there in every phase."""
    reference = "ref_logp" in config.row.reads and not config.train.lora.rank
    workers = config.task.scoring.workers if config.task.reward else 0
    return [
        Part("program", found.program.run, host=True),
        Part("data", found.data, host=True),
        Part("reward workers", workers * found.program.worker, host=True),
        Part("weights", weights.whole),
        Part("float32 copies of the weights", weights.beside),
        Part("Adam's moments", 2 * weights.optimized),
        Part("reference model", weights.whole * reference),
    ]


def at_times(found: Found, weights: Weights, passed: Training, sampled: Sampling) -> list[Part]:
    """The parts of one phase or two. AdamW goes weight by weight on a CPU; on a GPU it works on all of them at once."""
    return [
        Part("keys and values", sampled.cache, ("sampling",)),
        Part("engine's pass", sampled.rest, ("sampling",)),
        Part("gradients", weights.optimized, ("training", "updating")),
        Part("activations", passed.activations, ("training",)),
        Part("logits", passed.logits, ("training",)),
        Part("holes between them", int(HOLES * (passed.activations + passed.logits)) * (not found.gpu), ("training",)),
        Part("AdamW's working copies", weights.optimized if found.gpu else 2 * weights.largest, ("updating",)),
        Part("copy of what is saved", 2 * weights.optimized + weights.beside, ("saving",), host=True),
    ]


def sides(parts: tuple[Part, ...], *, gpu: bool, free: int, free_gpu: int) -> tuple[Side, ...]:
    """The memories that the parts are in: the machine's alone, or a GPU's before the machine's."""
    if not gpu:
        return (Side("memory", parts, free),)
    on_gpu = tuple(part for part in parts if not part.host)
    return (Side("GPU memory", on_gpu, free_gpu), Side("memory", tuple(p for p in parts if p.host), free))
