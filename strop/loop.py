"""One training run on one page: evaluate, then collect, build, update and record until done, then evaluate again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strop.batch.build import build
from strop.config.load import resolve
from strop.config.schema import Config
from strop.evaluate import Evaluation, encoder, held_out_accuracy
from strop.policy.model import Policy, describe, load_tokenizer, write
from strop.policy.model import load as load_model
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner
from strop.record import Totals, credit, facts, step_record, summary
from strop.rollout.collect import Collected, Refill, collect
from strop.rollout.encode import Encoder
from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_hf import HFEngine
from strop.rollout.filter import Filter
from strop.rollout.shaping import Overlong
from strop.run.checkpoint import retain, save
from strop.run.plots import draw_curves
from strop.run.store import RunFolder, environment, read_rows
from strop.tasks.find import find_task
from strop.tasks.task import Task
from strop.types import Group
from strop.watch import Stopped, Stopper, Watcher, interruptible

OnStep = Callable[[dict[str, Any]], None]
OnRollouts = Callable[[int, Sequence[Group]], None]

DRAWS_PER_PROMPT = 20
"""What rollout.max_draws: 0 stands for: this many times rollout.prompts."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its folder, what summary.json says, and the trained model with its tokenizer."""

    folder: Path
    summary: dict[str, Any]
    module: Any
    tokenizer: Any

    @property
    def interrupted(self) -> bool:
        return self.summary["verdict"] == "interrupted"


def train(
    config: Config | Mapping[str, Any] | str | Path,
    *,
    reward: Callable[..., Any] | None = None,
    on_step: OnStep | None = None,
    on_rollouts: OnRollouts | None = None,
) -> Run:
    """Train a policy; -> the finished run.

    config       a mapping with the keys of a config file, a path to one, or a loaded Config
    reward       scores in place of the task's own: f(prompt, completion, **columns) -> float,
                 or f(prompts, completions, **columns) -> list of floats
    on_step      called with each row of metrics.jsonl
    on_rollouts  called with (step, groups): every group that the step sampled

    Raises:
        StropError: one of strop.errors, saying what to do.
    """
    return run_training(resolve(config), Watcher(), reward=reward, on_step=on_step, on_rollouts=on_rollouts)


def run_training(
    config: Config,
    watch: Watcher,
    *,
    reward: Callable[..., Any] | None = None,
    on_step: OnStep | None = None,
    on_rollouts: OnRollouts | None = None,
) -> Run:
    """A whole run, told to `watch`. Ctrl-C ends it at the last whole step, with what was learned saved."""
    began = time.perf_counter()
    task = find_task(config.task, model=config.model, seed=config.seed, reward=reward)
    for warning in config.warnings:
        watch.warned(warning)
    with Stopper() as stopper:
        trainer = prepare(config, task, watch, stopper)
        before, after = trainer.whole(config.train.steps, on_step, on_rollouts)
        trainer.save()
        result = summary(
            algorithm=config.algorithm,
            model=config.model,
            steps=trainer.step,
            seconds=time.perf_counter() - began,
            before=before,
            after=after,
            totals=trainer.totals,
        )
        trainer.folder.write_json("summary.json", result)
        trainer.draw_curves()
    watch.finished(trainer.folder.path, result)
    return Run(trainer.folder.path, result, trainer.learner.policy.module, trainer.encode.tokenizer)


def prepare(config: Config, task: Task, watch: Watcher, stopper: Stopper) -> Trainer:
    """Load the model and lay out the run folder. Nothing is written before the model is there."""
    row, settings = config.row, config.train
    tokenizer = load_tokenizer(config.model)
    encode = encoder(tokenizer, config)
    check_prompts(task, encode, watch)
    module = load_model(
        config.model,
        dtype=settings.dtype,
        device=config.device,
        gradient_checkpointing=settings.gradient_checkpointing,
    )
    policy = Policy(module, config.rollout.temperature)
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
    optimizer = Optimizer(module.parameters(), adamw)
    learner = Learner(policy, row, optimizer, settings.tokens_per_micro_batch, reference, settings.passes)
    folder = RunFolder.create(Path(config.runs), config.run, algorithm=config.algorithm)
    folder.write_text("config.yaml", config.to_yaml())
    folder.write_json("provenance.json", config.sources)
    folder.write_json("environment.json", environment())
    watch.started(folder.path, facts(config, task, describe(module)))
    engine = HFEngine(module, tokenizer, rows=config.rollout.rows)
    return Trainer(config, task, encode, engine, learner, folder, watch, stopper)


def check_prompts(task: Task, encode: Encoder, watch: Watcher) -> None:
    """Encode every prompt that is known beforehand, so that one over the limit is told before the model loads."""
    prompts = task.known()
    for done, prompt in enumerate(prompts):
        encode(prompt)
        watch.progress("check prompts", done + 1, len(prompts))


@dataclass(slots=True)
class Trainer:
    """The parts of a run, and the numbers that move: `step`, `cursor` (the next draw) and the groups carried over."""

    config: Config
    task: Task
    encode: Encoder
    engine: HFEngine
    learner: Learner
    folder: RunFolder
    watch: Watcher
    stopper: Stopper
    step: int = 0
    cursor: int = 0
    carried: tuple[Group, ...] = ()
    totals: Totals = field(default_factory=Totals)

    def whole(
        self, steps: int, on_step: OnStep | None, on_rollouts: OnRollouts | None
    ) -> tuple[Evaluation, Evaluation | None]:
        """Evaluate, train, evaluate; -> accuracy before and after. After is None if Ctrl-C came first."""
        before, values = self.measure("before")
        try:
            while self.step < steps:
                self.stopper.check()
                began = time.perf_counter()
                collected = self.collect()
                record = self.learn(collected, sampled_s=time.perf_counter() - began)
                self.watch.sampled(collected.generated)
                if on_rollouts:
                    on_rollouts(self.step, collected.generated)
                self.record(record, steps, on_step)
            return before, self.measure("after")[0]
        except Stopped:
            return before, None

    def collect(self) -> Collected:
        """Sample groups until the batch is full of groups with signal."""
        rollout = self.config.rollout
        refill = Refill(
            prompts=rollout.prompts,
            max_draws=rollout.max_draws or DRAWS_PER_PROMPT * rollout.prompts,
            surplus=rollout.surplus,
            max_staleness=rollout.max_staleness,
            exhaustion=rollout.exhaustion,
        )
        rule = Filter(rollout.filter, self.config.task.solved, rollout.tolerance)
        return collect(self.draw, cursor=self.cursor, version=self.step, refill=refill, rule=rule, carried=self.carried)

    def draw(self, draws: range) -> Iterator[Group]:
        """Sample, score and shape the groups of these draws."""
        rollout = self.config.rollout
        prompts = [self.task.prompt(draw) for draw in draws]
        requests = [
            Request(draw=draw, prompt_ids=self.encode(prompt), completions=rollout.completions)
            for draw, prompt in zip(draws, prompts, strict=True)
        ]
        sampling = Sampling(rollout.max_tokens, rollout.temperature, self.config.seed, "train")
        overlong = Overlong(rollout.max_tokens, rollout.overlong.buffer, rollout.overlong.penalty)
        tick = interruptible("sample", self.watch, self.stopper)
        finished = self.engine.sample(requests, sampling, tick)
        for prompt, request, completions in zip(prompts, requests, finished, strict=True):
            scores = self.task.score(prompt, completions)
            yield Group(request.draw, prompt, request.prompt_ids, overlong.shape(completions, scores))

    def learn(self, collected: Collected, *, sampled_s: float) -> dict[str, Any]:
        """Train on a step's groups; -> its row of metrics. From here to the end of the step nothing interrupts."""
        began = time.perf_counter()
        settings = self.config
        batches = build(
            collected.trained,
            self.learner.row,
            updates=settings.train.updates,
            mask_truncated=settings.rollout.overlong.mask_truncated,
        )
        credits = credit(collected, batches, first_update=self.learner.optimizer.updates + 1)
        metrics = self.learner.train(batches, self.watch.progress)
        self.step += 1
        self.cursor, self.carried = collected.cursor, collected.carried
        self.engine.load(self.step)
        self.totals.add(collected)
        self.folder.append("ledger.jsonl", {"step": self.step, **collected.ledger})
        self.folder.write_rollouts(self.step, collected.fates, credits)
        seconds = {"time/sample": sampled_s, "time/train": time.perf_counter() - began}
        return step_record(self.step, self.learner.optimizer.updates, collected, metrics, seconds)

    def record(self, record: dict[str, Any], steps: int, on_step: OnStep | None) -> None:
        """Evaluate and save if this step's turn has come, and write the step's row."""
        due = self.config.eval.every and self.step % self.config.eval.every == 0 and self.step < steps
        if due and not self.stopper.asked:
            record |= self.measure(f"step {self.step}")[1]
        self.folder.append("metrics.jsonl", record)
        self.watch.stepped(record, steps)
        if on_step:
            on_step(record)
        if self.config.save.every and self.step % self.config.save.every == 0:
            self.save()

    def measure(self, name: str) -> tuple[Evaluation, dict[str, float]]:
        """Evaluate on the held-out prompts; -> the evaluation, and what metrics.jsonl keeps of it."""
        tick = interruptible("evaluate", self.watch, self.stopper)
        result = held_out_accuracy(self.engine, self.task, self.encode, self.config, progress=tick)
        self.folder.append("evaluations.jsonl", {"step": self.step, **result.record()})
        self.watch.evaluated(name, result)
        best = result.pass_at[max(result.pass_at)].value
        values = {"eval/avg": result.avg.value, "eval/pass": best, "eval/maj": result.maj.value}
        return result, values | {"eval/greedy": result.greedy.value}

    def save(self) -> None:
        """Write a checkpoint of this step, and let old ones go."""
        folder = self.folder.path / "checkpoints"
        learner = self.learner
        state = {"update": learner.optimizer.updates, "cursor": self.cursor, "seed": self.config.seed}
        self.watch.progress("save", 0, 1)
        save(
            folder,
            self.step,
            write_model=lambda target: write(learner.policy.module, self.encode.tokenizer, target),
            optimizer=learner.optimizer.tensors(),
            state=state | {"ledger": self.totals.record()},
        )
        retain(folder, self.config.save.keep)
        self.watch.progress("save", 1, 1)

    def draw_curves(self) -> None:
        """plots/curves.png, from the files of the run alone."""
        path = self.folder.path
        if self.step:
            rows = [read_rows(path / f"{name}.jsonl") for name in ("metrics", "ledger", "evaluations")]
            title = f"{self.config.algorithm} on {self.config.model}, {self.task.name}, seed {self.config.seed}"
            draw_curves(rows[0], rows[1], rows[2], path / "plots" / "curves.png", title=title)
