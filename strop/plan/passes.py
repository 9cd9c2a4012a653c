"""What a run's passes hold beside the weights: the real model, the policy's score and the engine's cache, unnumbered.

All of it runs in a FakeTensorMode, where a tensor is a shape without numbers and a 70B model costs seconds; attention
that a GPU would do by other kernels is the CPU's.

Suffixes: _P prompts, _W columns of the padded prompts, _R rows of the engine's batch, _B and _T a micro-batch.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from strop.batch.split import MicroBatch
from strop.plan.held import Held
from strop.policy.model import Policy
from strop.rollout.engine_draws import pick
from strop.rollout.engine_hf import SlabCache, SlabLayer


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of a module's weights.

    whole      all of them, as they are
    trained    those that train
    beside     float32 copies of those that train in a narrower dtype
    optimized  one copy of what the optimizer steps: float32 or wider
    largest    the largest of these
    """

    whole: int
    trained: int
    beside: int
    optimized: int
    largest: int


@dataclass(frozen=True, slots=True)
class Training:
    """Bytes of a forward and backward pass over one micro-batch, at the peak.

    `activations` is what the layers keep for the backward pass; `logits` what else there is at the peak: the logits,
    their copies, softmax and entropy, and what the backward pass makes.
    """

    activations: int
    logits: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """Bytes of the engine: keys and values of prompts and rows, and the rest of a pass at the peak."""

    cache: int
    rest: int


@dataclass(frozen=True, slots=True)
class Slabs:
    """Columns of the engine's slabs: a prompt's, the tokens to come, before the last growth (0 = none), and after."""

    width: int
    steps: int
    before_last: int
    last: int


def unnumbered(module: Any) -> Any:
    """The module with each of its tensors on the meta device made anew, in place: under a FakeTensorMode, on a CPU.

    peft can put adapters into a module on the meta device, and not into one of fake tensors.
    """
    made: dict[int, Any] = {}

    def again(old: torch.Tensor) -> Any:
        if id(old) not in made:
            new = torch.empty(old.shape, dtype=old.dtype, device="cpu")
            made[id(old)] = nn.Parameter(new, old.requires_grad) if isinstance(old, nn.Parameter) else new
        return made[id(old)]

    for part in module.modules():
        own = [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False), *vars(part).items()]
        for name, old in own:
            if isinstance(old, torch.Tensor):
                setattr(part, name, again(old))
    return module


def weights_of(module: Any) -> Weights:
    """The sizes of the weights; tied ones count once."""
    every = list(module.parameters())
    trained = [weight for weight in every if weight.requires_grad]
    optimized = [weight.numel() * max(4, weight.element_size()) for weight in trained]
    return Weights(
        whole=sum(weight.numel() * weight.element_size() for weight in every),
        trained=sum(weight.numel() * weight.element_size() for weight in trained),
        beside=sum(weight.numel() * 4 for weight in trained if weight.element_size() < 4),
        optimized=sum(optimized),
        largest=max(optimized),
    )


def training(module: Any, *, rows: int, tokens: int, completion: int, entropy: bool, temperature: float) -> Training:
    """One micro-batch of `rows` sequences of `tokens`, of which the last `completion` train; gradients are there."""
    for weight in module.parameters():
        weight.grad = torch.empty_like(weight) if weight.requires_grad else None
    micro = micro_batch(rows, tokens, completion)
    policy = Policy(module, temperature)
    with Held() as held:
        held.count([(weight, weight.grad) for weight in module.parameters()])
        before = held.restart()
        logits = module(input_ids=micro.ids_BT, use_cache=False).logits
        kept = held.now - before - logits.untyped_storage().nbytes()
        del logits
        held.restart()
        logp_n, entropy_n, _ = policy.score_at(micro, None, entropy_gradient=entropy)
        (logp_n.sum() + (entropy_n.sum() if entropy and entropy_n is not None else 0.0)).backward()
    return Training(kept, held.peak - before - kept)


def micro_batch(rows: int, tokens: int, completion: int) -> MicroBatch:
    """Sequences of one length, right-aligned: no padding."""
    return MicroBatch(
        ids_BT=torch.zeros(rows, tokens, dtype=torch.int64),
        tokens_B=torch.full((rows,), tokens),
        row_n=torch.arange(rows).repeat_interleave(completion),
        column_n=(torch.arange(completion) + tokens - completion).repeat(rows),
        index_n=torch.arange(rows * completion),
    )


def sampling(module: Any, slabs: Slabs, *, prompts: int, rows: int) -> Sampling:
    """The engine's pass over `prompts` prompts, and its last pass over `rows` completions."""
    width, steps = slabs.width, slabs.steps
    with Held() as held, torch.inference_mode():
        held.count(list(module.parameters()))
        before = held.restart()
        mask_PW = torch.ones(prompts, width, dtype=torch.int64)
        cache = SlabCache()
        forward(module, torch.zeros_like(mask_PW), mask_PW, mask_PW.cumsum(-1) - 1, cache)
        first = held.peak - before
        slabs_R = SlabCache([grown(layer, rows, slabs.last) for layer in cache.layers if isinstance(layer, SlabLayer)])
        growing = size(grown(next(iter(slabs_R.layers)), rows, slabs.before_last)) if slabs_R.layers else 0
        kept = sum(map(size, cache.layers)) + sum(map(size, slabs_R.layers))
        for layer in slabs_R.layers:
            layer.length = width + steps - 2
        held.restart()
        ids_R1 = torch.zeros(rows, 1, dtype=torch.int64)
        mask_RT = torch.ones(rows, width + steps - 1, dtype=torch.int64)
        logits_RV = forward(module, ids_R1, mask_RT, ids_R1, slabs_R)
        pick(logits_RV, torch.zeros(rows, dtype=torch.float64), 1.0)
    return Sampling(kept, max(first, held.peak - before + growing) - kept)


def forward(module: Any, ids: Any, mask: Any, positions: Any, cache: SlabCache) -> Any:
    """The logits after the last column, as the engine asks for them."""
    names = inspect.signature(module.forward).parameters
    named: dict[str, Any] = {"cache" if "cache" in names else "past_key_values": cache}
    if "logits_to_keep" in names:
        named["logits_to_keep"] = 1
    output = module(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, **named)
    return output.logits[:, -1]


def slabs_for(width: int, steps: int) -> Slabs:
    """How the engine's slabs grow from a prompt of `width` columns over `steps` tokens: one of a single row is driven.

    Outside a FakeTensorMode, in which it would take seconds.
    """
    layer = SlabLayer(torch.zeros(1, 1, width, 1), torch.zeros(1, 1, width, 1), width).rows(torch.tensor([0]))
    column = torch.zeros(1, 1, 1, 1)
    sizes = [layer.slabs[0].shape[2]]
    for _ in range(steps - 1):
        layer.update(column, column)
        sizes.append(layer.slabs[0].shape[2])
    return Slabs(width, steps, max((each for each in sizes if each < sizes[-1]), default=0), sizes[-1])


def grown(layer: SlabLayer, rows: int, capacity: int) -> SlabLayer:
    """Slabs of this layer's shape for so many rows and columns."""
    keys, values = (slab.new_empty(rows, slab.shape[1], capacity, slab.shape[3]) for slab in layer.slabs)
    return SlabLayer(keys, values, layer.length)


def size(layer: Any) -> int:
    return sum(slab.numel() * slab.element_size() for slab in layer.slabs)
