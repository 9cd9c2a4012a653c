"""What a run needs before its first step: the learner, the folder, and prompts that are known to fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from strop.config.schema import Config
from strop.policy.mesh import ALONE, Mesh
from strop.policy.model import Policy
from strop.policy.model import load as load_model
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner
from strop.rollout.encode import Encoder
from strop.run.store import RunFolder, environment
from strop.tasks.task import Task
from strop.watch import Watcher


def make_learner(config: Config, mesh: Mesh = ALONE) -> Learner:
    """The policy with its optimizer, and a frozen reference beside it if the row reads one.

    Sharded weights are float32 whatever `train.dtype`: the passes compute in that dtype, and sums are taken in float32.
    """
    row, settings = config.row, config.train
    compute = getattr(torch, settings.dtype)
    wide = mesh.slices and compute != torch.float32
    module = load_model(
        config.model, dtype=settings.dtype, device=config.device, gradient_checkpointing=settings.gradient_checkpointing
    )
    module = module.float() if wide else module
    mesh.shard(module, compute=compute if wide else None)
    reference = None
    if "ref_logp" in row.reads:
        frozen = load_model(config.model, dtype=settings.dtype, device=config.device).requires_grad_(False)
        frozen = frozen.float() if wide else frozen
        mesh.shard(frozen, compute=compute if wide else None)
        reference = Policy(frozen, config.rollout.temperature)
    adamw = AdamW(
        learning_rate=settings.learning_rate,
        warmup_updates=settings.warmup_steps * settings.updates * settings.passes,
        weight_decay=settings.adam.weight_decay,
        beta1=settings.adam.beta1,
        beta2=settings.adam.beta2,
        max_grad_norm=settings.max_grad_norm,
    )
    policy = Policy(module, config.rollout.temperature)
    optimizer = Optimizer(module.parameters(), adamw, wide=wide)
    return Learner(policy, row, optimizer, settings.tokens_per_micro_batch, reference, settings.passes, mesh)


def mesh_warnings(config: Config, mesh: Mesh) -> tuple[str, ...]:
    """Settings that have no effect with so many ranks."""
    if mesh.ranks > 1 or config.train.parallel == "data":
        return ()
    return (f"train.parallel {config.train.parallel} has no effect: one process holds every weight whole",)


def sampling_module(config: Config, learner: Learner) -> Any:
    """The module that completions are sampled from: the trained one, or a whole copy beside a sharded one."""
    if not learner.mesh.slices:
        return learner.policy.module
    return load_model(config.model, dtype=config.train.dtype, device=config.device).requires_grad_(False)


def make_folder(config: Config, *, reward: str, mesh: Mesh = ALONE) -> RunFolder:
    """The run's folder with what was asked for; `reward` names a function that was handed over from Python.

    The first rank makes and writes it; the others know where it is.
    """
    made: list[RunFolder] = []

    def make() -> str:
        made.append(RunFolder.create(Path(config.runs), config.run, algorithm=config.algorithm))
        return str(made[0].path)

    path = mesh.told(make)
    folder = made[0] if made else RunFolder(Path(path), silent=True)
    sources = config.sources | ({"task.reward": f"python function {reward}"} if reward else {})
    folder.write_text("config.yaml", config.to_yaml())
    folder.write_json("provenance.json", sources)
    folder.write_json("environment.json", environment() | {"ranks": mesh.ranks})
    return folder


def check_prompts(task: Task, encode: Encoder, watch: Watcher) -> None:
    """Encode every prompt that is known beforehand, so that one over the limit is told before the model loads."""
    prompts = task.known()
    for done, prompt in enumerate(prompts):
        encode(prompt)
        watch.progress("check prompts", done + 1, len(prompts))
