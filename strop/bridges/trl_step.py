"""TRL's own code, from the generation batch to the loss, on log-probs that are handed in: no model, no sampling.

A trainer is made without its __init__. Real are GRPOConfig's defaults, _prepare_inputs (the shuffle, the split into
micro-batches, when to generate) and compute_loss; in their place stand the forward pass, which gives the log-probs of
the hard batch, and generation, which gives its rows. So are the processes: DDP's average is taken here.
"""

from __future__ import annotations

import dataclasses
import types
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from strop.bridges.hard import GROUPS, HardBatch
from strop.bridges.trl import GENERATION, GROUP


class Cut(NamedTuple):
    """How a batch is cut: the micro-batches of a generation batch, of an optimizer step, the processes, and how many
    micro-batches each process has in all."""

    generate: int = 1
    accumulate: int = 1
    processes: int = 1
    micro_steps: int = 1


class Step(NamedTuple):
    """One optimizer step: the rows trained in it, the gradient by their log-probs [rows, T], and its loss."""

    rows: Tensor
    gradient: Tensor
    loss: float


class Processes:
    """What a trainer asks of its accelerator. A sum over processes is what all said at the same place before."""

    is_main_process = True
    sync_gradients = False

    def __init__(self, cut: Cut, rank: int, totals: Sequence[Tensor]) -> None:
        self.num_processes = cut.processes
        self.process_index = rank
        self.totals = iter(totals)
        self.said: list[Tensor] = []

    def reduce(self, value: Tensor, reduction: str = "sum") -> Tensor:
        self.said.append(value.detach())
        return next(self.totals, value)

    def gather(self, value: Tensor) -> Tensor:
        return value


@dataclass(frozen=True)
class Run:
    """A trainer class under these settings of GRPOConfig, on a batch cut like this; `state` is what else it holds."""

    kind: type
    settings: Mapping[str, Any]
    batch: HardBatch
    cut: Cut = Cut()
    state: Mapping[str, Any] = field(default_factory=dict)

    def steps(self) -> list[Step]:
        """The optimizer steps. Every process runs twice: to hear what each has to say, then with the sums over all."""
        ranks = range(self.cut.processes)
        told = [_Process(self, rank) for rank in ranks]
        for process in told:
            list(process.windows())
        totals = [torch.stack(said).sum(0) for said in zip(*[one.accelerator.said for one in told], strict=True)]
        parts = [_Process(self, rank, totals).windows() for rank in ranks]
        return [_joined(step, self.cut.processes) for step in zip(*parts, strict=True)]

    def dealt(self, micro_step: int) -> Tensor:
        """The rows of the generation batch that a micro-step belongs to, on all processes: whole groups, as in TRL."""
        batches = self.cut.micro_steps // self.cut.generate
        rows = torch.arange(len(self.batch.mask)) if batches == 1 else self.batch.group.argsort(stable=True)
        return rows.chunk(batches)[micro_step // self.cut.generate]


def _joined(parts: Sequence[Step], processes: int) -> Step:
    """One step of all processes: DDP averages gradients, and transformers the loss that it logs."""
    gradient = torch.cat([part.gradient for part in parts]) / processes
    return Step(torch.cat([part.rows for part in parts]), gradient, sum(part.loss for part in parts) / processes)


class _Process:
    """One process of a run: its trainer, and the rows that it is dealt."""

    def __init__(self, run: Run, rank: int, totals: Sequence[Tensor] = ()) -> None:
        self.run, self.rank = run, rank
        self.logp = run.batch.logp.clone().requires_grad_()
        self.accelerator = Processes(run.cut, rank, totals)
        self.generated = 0
        self.trainer: Any = object.__new__(run.kind)
        self.trainer.__dict__.update(attributes(run.settings, run.cut))
        self.trainer.__dict__.update(
            accelerator=self.accelerator,
            _get_per_token_logps_and_entropies=self.forward,
            _generate_and_score_completions=self.generate,
            **run.state,
        )

    def windows(self) -> Iterator[Step]:
        """What transformers does with a trainer: micro-step after micro-step, a gradient for each window."""
        cut = self.run.cut
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.rank)
            for first in range(0, cut.micro_steps, cut.accumulate):
                micro_steps = range(first, first + cut.accumulate)
                yield self.window([self.run.dealt(m).chunk(cut.processes)[self.rank] for m in micro_steps])

    def window(self, raw: list[Tensor]) -> Step:
        """One optimizer step from the rows that the data loader gives at its micro-steps."""
        self.trainer.current_gradient_accumulation_steps = len(raw)
        self.trainer._raw = raw
        losses: list[Tensor] = []
        rows: list[Tensor] = []
        for batch in raw:
            inputs = self.trainer._prepare_inputs(batch)
            losses.append(self.trainer.compute_loss(None, inputs))
            self.trainer._step += 1
            rows.append(inputs["prompt_ids"][:, 0])
        loss, trained = torch.stack(losses).sum(), torch.cat(rows)
        return Step(trained, torch.autograd.grad(loss, self.logp)[0][trained], loss.item())

    def generate(self, rows: Tensor) -> dict[str, Tensor]:
        """The columns of a generation batch, as TRL makes them; num_items_in_batch counts it on all processes."""
        self.generated += 1
        part = self.run.batch.rows(rows)
        everywhere = self.run.dealt(self.trainer._step)
        return {
            "prompt_ids": rows[:, None],
            "prompt_mask": torch.ones_like(rows[:, None]),
            "completion_ids": torch.zeros(part.mask.shape, dtype=torch.int64),
            "completion_mask": part.mask.long(),
            "advantages": part.advantage,
            "num_items_in_batch": self.run.batch.mask[everywhere].sum(),
            "old_per_token_logps": part.old_logp,
            "ref_per_token_logps": part.ref_logp,
            "sampling_per_token_logps": part.sampler_logp,
            GROUP: part.group,
            GENERATION: torch.tensor(self.generated),
        }

    def forward(self, model: Any, ids: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor, None]:
        """Log-probs and entropies of the rows that `ids` begin with."""
        return self.logp[ids[:, 0]], torch.zeros_like(self.logp[ids[:, 0]]), None


def attributes(settings: Mapping[str, Any], cut: Cut) -> dict[str, Any]:
    """What GRPOTrainer.__init__ leaves on a trainer, as far as the loss and the split read it."""
    from trl import GRPOConfig  # pyright: ignore[reportMissingImports]

    config = {one.name: one.default for one in dataclasses.fields(GRPOConfig)} | dict(settings)
    args = types.SimpleNamespace(**config)
    args.report_to = []
    args.steps_per_generation = cut.generate
    args.gradient_accumulation_steps = cut.accumulate
    args.num_generations = 2
    args.generation_batch_size = args.num_generations * (max(GROUPS) + 1)
    same = ("loss_type", "beta", "importance_sampling_level", "off_policy_mask_threshold", "top_entropy_quantile")
    kept = ("use_vllm", "vllm_importance_sampling_correction", "num_iterations", "max_completion_length")
    return {
        **{name: getattr(args, name) for name in (*same, *kept, "num_generations")},
        "args": args,
        "epsilon_low": args.epsilon,
        "epsilon_high": args.epsilon if args.epsilon_high is None else args.epsilon_high,
        "aux_loss_enabled": False,
        "model": types.SimpleNamespace(training=True),
        "state": types.SimpleNamespace(global_step=0),
        "_entropy_bonus_enabled": False,
        "_buffered_inputs": None,
        "_step": 0,
        "_metrics": {"train": defaultdict(list)},
        "_ready": deque(),
        "_parts": [],
        "_measure": lambda mode, parts: None,
    }
