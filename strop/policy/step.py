"""One optimizer step: micro-batches in, a plain sum of weight times loss, one update out.

There is no divisor here: the weight of every token was fixed in batch/build.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from strop.algorithms import Algorithm
from strop.batch.build import Batch
from strop.batch.split import MicroBatch, idle, split
from strop.errors import NumericsError
from strop.metrics import High, Mean, Metric, Metrics, Sum, merge, packed, unpacked
from strop.objective.objective import objective
from strop.objective.streams import Streams
from strop.policy.mesh import ALONE, Mesh
from strop.policy.model import Policy
from strop.policy.optim import Optimizer

Tick = Callable[[str, int, int], None]
"""progress(phase, done, total)"""


@dataclass(frozen=True, slots=True)
class Scored:
    """A batch, its micro-batches, and the log-probs that stay fixed while it trains: [N] each, or None if not read.

    Every rank has as many micro-batches as the one that has most: those that it lacks are idle ones.
    """

    batch: Batch
    parts: tuple[MicroBatch, ...]
    old_logp_N: Tensor | None = None
    ref_logp_N: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Learner:
    """Everything an update needs. `tokens` bounds a micro-batch; `reference` is there if the row reads it.

    Under several ranks a batch is this rank's share (batch.build), and every method is called by all of them together.
    """

    policy: Policy
    row: Algorithm
    optimizer: Optimizer
    tokens: int
    reference: Policy | None = None
    passes: int = 1
    mesh: Mesh = ALONE

    def train(self, batches: Sequence[Batch], tick: Tick) -> Metrics:
        """Train on the batches of one step, each `passes` times; metrics are merged over all updates.

        old_logp is taken once for the step, before its first update. With one update it is the current log-prob
        itself, detached, so that the ratio is exactly 1.
        """
        scored = [self.laid_out(batch) for batch in batches]
        if "old_logp" in self.row.reads and len(batches) * self.passes > 1:
            scored = [replace(s, old_logp_N=self.score(self.policy, s, "score old", tick)) for s in scored]
        if "ref_logp" in self.row.reads and self.reference is not None:
            scored = [replace(s, ref_logp_N=self.score(self.reference, s, "score reference", tick)) for s in scored]
        return merge(self.update(s, tick) for _ in range(self.passes) for s in scored)

    def laid_out(self, batch: Batch) -> Scored:
        """The batch in micro-batches, as many on every rank."""
        parts = split(batch, tokens=self.tokens)
        missing = self.mesh.most(len(parts)) - len(parts)
        return Scored(batch, (*parts, *(idle() for _ in range(missing))))

    def update(self, scored: Scored, tick: Tick) -> Metrics:
        """One optimizer step on one batch.

        A batch without a live token changes nothing: the step is skipped and counted, the schedule does not advance.

        Raises:
            NumericsError: the loss or the gradient is not finite. The weights are as before.
        """
        if not scored.parts:
            return {"updates/skipped": Sum(1.0)}
        metrics = self.accumulate(scored, tick)
        norm = self.optimizer.gradient_norm()
        if not math.isfinite(norm) or not math.isfinite(metrics["loss"].total):
            self.optimizer.clear()
            raise NumericsError(
                f"the loss is {metrics['loss'].total} and the gradient norm {norm}: the weights "
                "were left as they were. Lower train.learning_rate, or train in float32 if you train in bfloat16"
            )
        rate = self.optimizer.learning_rate
        self.optimizer.step(norm)
        return {**metrics, "grad_norm": Mean(norm, 1.0), "learning_rate": High(rate), "updates/skipped": Sum(0.0)}

    def accumulate(self, scored: Scored, tick: Tick) -> Metrics:
        """The gradient of the batch, summed into the parameters and over ranks, and the metrics of all ranks."""
        measured: list[Metrics] = []
        for done, micro in enumerate(scored.parts):
            streams = self.streams(scored, micro)
            loss = objective(self.row, streams)
            loss.value.backward()
            padding: dict[str, Metric] = {
                "padding_share": Mean(float(micro.padded_tokens - micro.real_tokens), float(micro.padded_tokens))
            }
            measured.append({**loss.metrics, **padding})
            tick("train", done + 1, len(scored.parts))
        self.mesh.sum_gradients(self.optimizer.masters)
        return merge(unpacked(part) for part in self.mesh.exchange(packed(merge(measured))))

    def streams(self, scored: Scored, micro: MicroBatch) -> Streams:
        """The streams of one micro-batch, of which the row will read its own."""
        batch = scored.batch
        mine = micro.index_n
        top_ids_nK = None if batch.top_ids_NK is None else batch.top_ids_NK[mine]
        logp_n, entropy_n, top_logp_nK = self.policy.score_at(
            micro, top_ids_nK, entropy_gradient="entropy" in self.row.reads
        )

        def here(column_N: Tensor) -> Tensor:
            return column_N[mine].to(logp_n.dtype).to(logp_n.device)  # in this order: MPS has no float64

        return Streams(
            logp_N=logp_n,
            advantage_N=here(batch.advantage_S[batch.seq_N]),
            weight_N=here(batch.weight_N),
            seq_N=micro.seq_n.to(logp_n.device),
            old_logp_N=logp_n.detach() if scored.old_logp_N is None else here(scored.old_logp_N),
            sampler_logp_N=here(batch.sampler_logp_N),
            ref_logp_N=None if scored.ref_logp_N is None else here(scored.ref_logp_N),
            entropy_N=entropy_n,
            sampler_top_logp_NK=None if batch.sampler_top_logp_NK is None else here(batch.sampler_top_logp_NK),
            top_logp_NK=top_logp_nK,
            top_is_sampled_NK=None
            if top_ids_nK is None
            else (top_ids_nK == micro.sampled_n[:, None]).to(logp_n.device),
        )

    def score(self, policy: Policy, scored: Scored, phase: str, tick: Tick) -> Tensor:
        """log-probs of the batch's live tokens under `policy`, without gradient: -> [N], in the batch's order."""
        logp_N: Tensor | None = None
        with torch.no_grad():
            for done, micro in enumerate(scored.parts):
                logp_n, _ = policy.score(micro, with_entropy=False)
                logp_N = logp_n.new_empty(scored.batch.tokens) if logp_N is None else logp_N
                logp_N[micro.index_n.to(logp_n.device)] = logp_n
                tick(phase, done + 1, len(scored.parts))
        return torch.empty(0) if logp_N is None else logp_N
