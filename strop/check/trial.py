"""A batch under one layout, through the shipped build, split and step: its gradient and its metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from strop.algorithms import Algorithm
from strop.batch import build as building
from strop.check.cases import Case, Models
from strop.check.layouts import ALL, Layout, lay_out
from strop.check.oracle import silent
from strop.metrics import Metrics
from strop.policy.mesh import ALONE, Mesh, whole
from strop.policy.model import Policy, checkpoint_activations
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner, Scored


class Found(NamedTuple):
    """The gradient of a batch by parameter name, and its metrics, as the learner reports them."""

    gradient: dict[str, Tensor]
    metrics: Metrics


@dataclass(slots=True)
class Bench:
    """A case on a mesh: the models of it, in the dtype that they have, and the optimizer that holds the gradient."""

    case: Case
    models: Models
    optimizer: Optimizer
    mesh: Mesh = ALONE
    kept: dict[tuple[Layout, str], Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, models: Models, mesh: Mesh = ALONE) -> Bench:
        for module in {id(module): module for module in models}.values():
            mesh.shard(module)
        return cls(case, models, Optimizer(models.policy.parameters(), AdamW(1e-3)), mesh)

    def run(self, row: Algorithm, layout: Layout) -> Found:
        """The gradient, before clipping, and the metrics of the case's first optimizer batch."""
        learner, laid_out = self.lay_out(row, layout)
        scored = self.scored(learner, laid_out, layout)
        self.optimizer.clear()
        with recomputed(self.models.policy) if layout.checkpointing else nullcontext():
            metrics = learner.accumulate(scored, silent)
        return Found(self.gradient(), metrics)

    def lay_out(self, row: Algorithm, layout: Layout) -> tuple[Learner, Scored]:
        """The learner, and this rank's share of the batch in micro-batches."""
        case, share = self.case, self.mesh.share
        if layout.turned:
            share = replace(share, rank=(share.rank + 1) % share.ranks)
        groups = layout.ordered(case.groups, len(case.first))
        batch, *_ = building.build(groups, row, updates=case.updates, mask_truncated=case.mask_truncated, share=share)
        learner = Learner(self.policy(self.models.policy), row, self.optimizer, ALL, mesh=self.mesh)
        return learner, lay_out(learner, batch, layout)

    def distinct(self, row: Algorithm, layouts: Sequence[Layout]) -> list[Layout]:
        """The layouts without those that are, for this batch, the same micro-batches as an earlier one."""
        seen: dict[Any, Layout] = {}
        for layout in layouts:
            _, scored = self.lay_out(row, layout)
            parts = tuple(tuple(map(tuple, part.ids_BT.tolist())) for part in scored.parts)
            seen.setdefault((parts, layout.checkpointing), layout)
        return list(seen.values())

    def scored(self, learner: Learner, laid_out: Scored, layout: Layout) -> Scored:
        """With the log-probs of the batch that the row reads, scored by the learner in the same micro-batches.

        They are the same for every row, and scored for the first.
        """
        for stream, module in (("old_logp", self.models.old), ("ref_logp", self.models.reference)):
            if stream in learner.row.reads:
                key = (layout, stream)
                if key not in self.kept:
                    self.kept[key] = learner.score(self.policy(module), laid_out, "score", silent)
                laid_out = replace(laid_out, **{f"{stream}_N": self.kept[key]})
        return laid_out

    def policy(self, module: nn.Module) -> Policy:
        return Policy(module, self.case.temperature)  # type: ignore[arg-type]

    def gradient(self) -> dict[str, Tensor]:
        """What has been summed, by parameter name, in one piece. A weight that nothing reached has 0."""
        names = [name for name, weight in self.models.policy.named_parameters() if weight.requires_grad]
        weights = zip(names, self.optimizer.masters, strict=True)
        return {name: whole(torch.zeros_like(w) if w.grad is None else w.grad) for name, w in weights}


@contextmanager
def recomputed(module: nn.Module) -> Iterator[None]:
    """With the activations of the module recomputed in the backward pass."""
    checkpoint_activations(module.train())  # type: ignore[arg-type]
    try:
        yield
    finally:
        for part in module.eval().modules():
            if hasattr(part, "gradient_checkpointing"):
                setattr(part, "gradient_checkpointing", False)  # noqa: B010  modules declare no attributes
