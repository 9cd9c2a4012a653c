"""What a run needs before its first step: the learner, the folder, and prompts that are known to fit."""

from __future__ import annotations

from pathlib import Path

from strop.config.schema import Config
from strop.policy.model import Policy
from strop.policy.model import load as load_model
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner
from strop.rollout.encode import Encoder
from strop.run.store import RunFolder, environment
from strop.tasks.task import Task
from strop.watch import Watcher


def make_learner(config: Config) -> Learner:
    """The policy with its optimizer, and a frozen reference beside it if the row reads one."""
    row, settings = config.row, config.train
    module = load_model(
        config.model,
        dtype=settings.dtype,
        device=config.device,
        gradient_checkpointing=settings.gradient_checkpointing,
    )
    reference = None
    if "ref_logp" in row.reads:
        frozen = load_model(config.model, dtype=settings.dtype, device=config.device)
        reference = Policy(frozen.requires_grad_(False), config.rollout.temperature)
    adamw = AdamW(
        learning_rate=settings.learning_rate,
        warmup_updates=settings.warmup_steps * settings.updates * settings.passes,
        weight_decay=settings.weight_decay,
        beta1=settings.beta1,
        beta2=settings.beta2,
        max_grad_norm=settings.max_grad_norm,
    )
    policy = Policy(module, config.rollout.temperature)
    optimizer = Optimizer(module.parameters(), adamw)
    return Learner(policy, row, optimizer, settings.tokens_per_micro_batch, reference, settings.passes)


def make_folder(config: Config, *, reward: str) -> RunFolder:
    """The run's folder with what was asked for; `reward` names a function that was handed over from Python."""
    folder = RunFolder.create(Path(config.runs), config.run, algorithm=config.algorithm)
    sources = config.sources | ({"task.reward": f"python function {reward}"} if reward else {})
    folder.write_text("config.yaml", config.to_yaml())
    folder.write_json("provenance.json", sources)
    folder.write_json("environment.json", environment())
    return folder


def check_prompts(task: Task, encode: Encoder, watch: Watcher) -> None:
    """Encode every prompt that is known beforehand, so that one over the limit is told before the model loads."""
    prompts = task.known()
    for done, prompt in enumerate(prompts):
        encode(prompt)
        watch.progress("check prompts", done + 1, len(prompts))
