"""What strop's exactness costs: weights beside the passes of the model, and a row's loss beside the same by hand.

make bench        prints a table and writes benchmarks/results/HARDWARE-DATE.json
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.measure import Result, compared, told
from strop.algorithms import algorithm
from strop.batch.build import Batch
from strop.batch.split import split
from strop.objective.aggregation import AGGREGATIONS, Constant, weigh
from strop.objective.objective import objective
from strop.objective.streams import Streams
from strop.policy.model import Policy, load

TOKENS = 1_000_000
PASSED = 8_192
"""Tokens of the forward and backward passes that are timed; their time is scaled to TOKENS."""

COMPLETION = 50
GROUP = 8


def columns(tokens: int) -> tuple[Tensor, Tensor]:
    """seq_N and prompt_S of completions of about COMPLETION tokens, GROUP to a prompt."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(COMPLETION // 2, COMPLETION * 3 // 2, (tokens * 2 // COMPLETION,), generator=generator)
    lengths = lengths[: int((lengths.cumsum(0) <= tokens).sum())]
    lengths[-1] += tokens - int(lengths.sum())
    return torch.repeat_interleave(torch.arange(len(lengths)), lengths), torch.arange(len(lengths)) // GROUP


def passes() -> Callable[[], None]:
    """Forward and backward of the embedded policy over PASSED live tokens, as a step makes them."""
    policy = Policy(load("strop:tiny", dtype="float32", device="cpu"))
    seq_N, prompt_S = columns(PASSED)
    counts = torch.bincount(seq_N).tolist()
    vocabulary = policy.module.config.vocab_size
    ids_S = tuple(torch.randint(vocabulary, (1 + count,)) for count in counts)
    ones_S, zeros_N = torch.ones(len(counts)), torch.zeros(PASSED)
    batch = Batch(ids_S, ones_S.long(), prompt_S, ones_S.bool(), ones_S.double(), seq_N, zeros_N.double(), zeros_N)
    parts = split(batch, tokens=16_384)

    def run() -> None:
        for micro in parts:
            logp_n, _ = policy.score(micro)
            logp_n.sum().backward()

    return run


def weights() -> list[Result]:
    """Issue: the weights of a million tokens beside the passes over the same tokens."""
    seq_N, prompt_S = columns(TOKENS)
    run = passes()
    means = [Constant(64) if kind is Constant else kind() for kind in AGGREGATIONS.values()]
    return [
        compared(
            f"weights of 1M tokens, {mean.kind} mean / forward and backward of strop:tiny over them",
            lambda mean=mean: weigh(mean, seq_N, prompt_S),  # type: ignore[misc]
            run,
            target=0.02,
            n=5,
            scale=PASSED / TOKENS,
        )
        for mean in means
    ]


def by_hand_clip(s: Streams, leaf: Tensor) -> Tensor:
    ratio = (leaf - s.read("old_logp")).clamp(-20, 20).exp()
    surrogate = torch.minimum(ratio * s.advantage_N, ratio.clamp(0.8, 1.28) * s.advantage_N)
    return -(s.weight_N * surrogate).sum()


def by_hand_sequence(s: Streams, leaf: Tensor) -> Tensor:
    count = torch.bincount(s.seq_N)
    log_s = torch.zeros(len(count)).index_add(0, s.seq_N, leaf - s.read("old_logp")) / count
    ratio = log_s.clamp(-20, 20).exp()[s.seq_N]
    surrogate = torch.minimum(ratio * s.advantage_N, ratio.clamp(1 - 3e-4, 1 + 4e-4) * s.advantage_N)
    return -(s.weight_N * surrogate).sum()


def by_hand_divergence(s: Streams, leaf: Tensor) -> Tensor:
    now, anchor = leaf.detach(), s.read("sampler_logp")
    ratio = (now - anchor).clamp(-20, 20).exp()
    moved = (anchor.exp() - now.exp()).abs()
    out = ((s.advantage_N > 0) & (ratio > 1) | (s.advantage_N < 0) & (ratio < 1)) & (moved > 0.2)
    return -(s.weight_N * s.advantage_N * ratio.masked_fill(out, 0.0) * (1 + leaf - now)).sum()


BY_HAND = {"dapo": by_hand_clip, "gspo": by_hand_sequence, "dppo_tv": by_hand_divergence}


def losses() -> list[Result]:
    """A row's loss and its gradient over a million tokens, with metrics, beside the bare arithmetic fused by hand."""
    generator = torch.Generator().manual_seed(1)
    seq_N, prompt_S = columns(TOKENS)
    logp_N = -3 * torch.rand(TOKENS, generator=generator)
    near_N = logp_N + 0.1 * torch.randn(TOKENS, generator=generator)
    found = []
    for name, by_hand in BY_HAND.items():
        row = algorithm(name, length=64)
        weight_N = row.weights(seq_N, prompt_S).float()
        advantage_N = torch.randn(len(prompt_S), generator=generator)[seq_N]
        leaf = logp_N.clone().requires_grad_()
        streams = Streams(leaf, advantage_N, weight_N, seq_N, old_logp_N=near_N, sampler_logp_N=near_N)
        same(objective(row, streams).value, by_hand(streams, leaf), leaf)
        ours = lambda row=row, streams=streams: objective(row, streams).value.backward()  # noqa: E731
        theirs = lambda f=by_hand, s=streams, leaf=leaf: f(s, leaf).backward()  # noqa: E731
        found.append(compared(f"loss of {name} over 1M tokens / the same by hand", ours, theirs, target=3.0))
    return found


def same(ours: Tensor, theirs: Tensor, leaf: Tensor) -> None:
    """The two compute one thing, value and gradient: otherwise their times say nothing."""
    [mine], [other] = torch.autograd.grad(ours, leaf), torch.autograd.grad(theirs, leaf)
    if not (torch.allclose(ours, theirs, rtol=1e-3, atol=1e-6) and (mine - other).norm() < 1e-4 * other.norm()):
        raise SystemExit(f"the loss by hand is not the row's: {ours.item()} and {theirs.item()}")


def hardware() -> str:
    """A short name of the machine: its architecture, cores, and the threads used."""
    return f"{platform.machine()}-{os.cpu_count()}-cores-{torch.get_num_threads()}-threads"


def main() -> None:
    results = [*weights(), *losses()]
    sys.exit(not told(results, hardware()))


if __name__ == "__main__":
    main()
