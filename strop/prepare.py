"""What a run needs before its first step: the learner, the folder, and prompts that are known to fit."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch

from strop.config.files import input_paths
from strop.config.schema import Config
from strop.policy.lora import OFF, Lora, merge, wrapped
from strop.policy.mesh import ALONE, Mesh
from strop.policy.model import Policy
from strop.policy.model import load as load_model
from strop.policy.name import model_record
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner
from strop.rollout.encode import Encoder
from strop.rollout.fit import fitting
from strop.run.inputs import fingerprints
from strop.run.store import RunFolder, environment
from strop.tasks.task import Task
from strop.watch import Watcher


def make_learner(config: Config, mesh: Mesh = ALONE) -> Learner:
    """The policy with its optimizer, and a frozen reference beside it if the row reads one.

    Sharded weights are float32 whatever `train.dtype`: the passes compute in that dtype, and sums are taken in float32.
    Where adapters are trained these are float32 already, the rest is frozen and stays as it is, and the reference is
    the same module with its adapters off.
    """
    row, settings = config.row, config.train
    compute = getattr(torch, settings.dtype)
    wide = mesh.slices and compute != torch.float32 and not settings.lora.rank
    module = run_model(config, gradient_checkpointing=settings.gradient_checkpointing)
    module = module.float() if wide else module
    mesh.shard(module, compute=compute if wide else None)
    reference = None
    if "ref_logp" in row.reads and settings.lora.rank:
        reference = Policy(module, config.rollout.temperature, bare=True)
    elif "ref_logp" in row.reads:
        frozen = run_model(config).requires_grad_(False)
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
    return run_model(config).requires_grad_(False)


def run_model(config: Config, *, gradient_checkpointing: bool = False) -> Any:
    """The model of a run as it is before the first step. Adapters that it comes with and will not train are merged."""
    module = load_model(
        config.model,
        dtype=config.train.dtype,
        device=config.device,
        gradient_checkpointing=gradient_checkpointing,
        lora=run_adapters(config),
    )
    if not config.train.lora.rank and wrapped(module):
        merge(module)
        module.requires_grad_(True)
    return module


def run_adapters(config: Config) -> Lora:
    """The adapters that a run trains."""
    asked = config.train.lora
    return Lora(asked.rank, asked.alpha, tuple(asked.targets), config.seed) if asked.rank else OFF


def make_folder(config: Config, *, task: str, reward: str = "", mesh: Mesh = ALONE) -> RunFolder:
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
    if mesh.first:
        inputs = fingerprints(input_paths(config.task))
        told = {"ranks": mesh.ranks, "task": task, "inputs": inputs, "model": model_record(config.model)}
        folder.write_json("environment.json", environment() | told)
    return folder


def check_prompts(task: Task, encode: Encoder, watch: Watcher) -> Task:
    """The task without the prompts that are to be dropped. What is odd about the others is told before the model loads.

    Raises:
        DataError: a prompt cannot be encoded, or is over the limit where that is an error.
    """
    task, said = fitting(task, encode, partial(watch.progress, "check prompts"))
    for text in said:
        watch.warned(text)
    return task
