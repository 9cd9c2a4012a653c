"""One training run on one page: evaluate, then collect, build, update and record until done, then evaluate again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from strop.batch.build import build
from strop.config.load import resolve
from strop.config.schema import Config
from strop.errors import StropError
from strop.evaluate import Evaluation, encoder, held_out_accuracy
from strop.policy.mesh import Mesh, gathered, joined
from strop.policy.model import describe, load_tokenizer, write
from strop.policy.name import shown
from strop.policy.step import Learner
from strop.prepare import check_prompts, make_folder, make_learner, mesh_warnings, sampling_module
from strop.record import State, credit, facts, step_record, summary, write_checkpoint
from strop.rollout.collect import Collected
from strop.rollout.encode import Encoder
from strop.rollout.engine_hf import HFEngine
from strop.rollout.guard import Guard
from strop.rollout.spread import Spread
from strop.run.plots import draw_run
from strop.run.store import RunFolder
from strop.run.trackers import Trackers, check_installed
from strop.sampler import Sampler
from strop.tasks.find import find_task
from strop.tasks.task import Task
from strop.types import Group
from strop.watch import Stopped, Stopper, Watcher, interruptible

OnStep = Callable[[dict[str, Any]], None]
OnRollouts = Callable[[int, Sequence[Group]], None]


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

    Under torchrun the ranks work as one: the first one writes the folder, shows what happens and makes these calls.
    Ctrl-C ends the run at a whole step: `run.interrupted` is true then, and what was learned is saved.

    Raises:
        StropError: one of strop.errors, saying what to do; what was learned before it is saved.
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
    """A whole run, told to `watch`. However it ends, the folder keeps what was learned.

    Ctrl-C ends it at the last whole step, and the run that is returned says so (KeyboardInterrupt if there is nothing
    to return yet); an error is raised once the folder is complete.
    """
    began = time.perf_counter()
    with Stopper() as stopper, joined(sharded=config.train.parallel == "fsdp", device=config.device) as mesh:
        if not mesh.first:
            watch, on_step, on_rollouts = Watcher(), None, None
        for warning in (*config.warnings, *mesh_warnings(config, mesh)):
            watch.warned(warning)
        trainer = prepare(config, watch, stopper, mesh, reward=reward)
        try:
            trainer.whole(config.train.steps, on_step, on_rollouts)
        except Exception as error:
            if not mesh.shared(error):
                raise
            trainer.close(seconds=time.perf_counter() - began, stopped=str(error) or type(error).__name__)
            if trainer.state.step:
                watch.warned(f"an error ends the run; {trainer.state.step} steps are saved in {trainer.folder.path}")
            raise
        finally:
            trainer.sampler.task.close()
        result = trainer.close(seconds=time.perf_counter() - began)
    if trainer.state.before is None:
        raise KeyboardInterrupt
    watch.finished(trainer.folder.path, result)
    return Run(trainer.folder.path, result, trainer.engine.module, trainer.engine.tokenizer)


def prepare(
    config: Config, watch: Watcher, stopper: Stopper, mesh: Mesh, *, reward: Callable[..., Any] | None
) -> Trainer:
    """Find the task, load the model and lay out the run folder. Nothing is written before the model is there."""

    def load() -> tuple[Task, Any, Encoder, Learner, Any]:
        check_installed(config.save.trackers)
        task = find_task(config.task, seed=config.seed, reward=reward)
        tokenizer = load_tokenizer(config.model)
        encode = encoder(tokenizer, config)
        task = check_prompts(task, encode, watch)
        learner = make_learner(config, mesh)
        return task, tokenizer, encode, learner, sampling_module(config, learner)

    task, tokenizer, encode, learner, module = mesh.together(load)
    handed = getattr(reward, "__name__", type(reward).__name__) if reward else ""
    folder = make_folder(config, task=task.description, reward=handed, mesh=mesh)
    watch.started(folder.path, facts(config, task, describe(module), mesh.ranks))
    engine = HFEngine(module, tokenizer, rows=config.rollout.rows)
    spread, guard = Spread(mesh.rank, mesh.ranks, mesh.exchange), Guard(config.task.scoring.max_unscorable)
    sampler = Sampler(config, learner.row, task, encode, engine, guard, watch, stopper, spread)
    trackers = Trackers(config.save.trackers if mesh.first else (), config.flat(), folder.path, watch.warned)
    return Trainer(config, sampler, engine, learner, folder, trackers, watch, stopper)


@dataclass(slots=True)
class Trainer:
    """The parts of a run, and its state."""

    config: Config
    sampler: Sampler
    engine: HFEngine
    learner: Learner
    folder: RunFolder
    trackers: Trackers
    watch: Watcher
    stopper: Stopper
    state: State = field(default_factory=State)

    def whole(self, steps: int, on_step: OnStep | None, on_rollouts: OnRollouts | None) -> None:
        """Evaluate, train, evaluate; returns early, between two pieces of work, once Ctrl-C was pressed."""
        state = self.state
        try:
            state.before, _ = self.measure("before")
            while state.step < steps:
                self.pause()
                began = time.perf_counter()
                collected = self.sampler.collect(cursor=state.cursor, version=state.step, carried=state.carried)
                record = self.learn(collected, sampled_s=time.perf_counter() - began)
                self.watch.sampled(collected.generated)
                self.tell(on_rollouts, state.step, collected.generated)
                self.record(record, steps, on_step)
            state.after, _ = self.measure("after")
        except Stopped:
            return

    def tell(self, listener: Callable[..., None] | None, *news: Any) -> None:
        """Call a listener, which only the first rank has; a StropError of its ends all ranks alike."""
        self.learner.mesh.together(lambda: listener(*news) if listener else None)

    def pause(self) -> None:
        """A place between steps where Ctrl-C, pressed on any rank, ends the run on all of them."""
        if self.learner.mesh.most(int(self.stopper.asked)):
            raise Stopped

    def close(self, *, seconds: float, stopped: str = "") -> dict[str, Any]:
        """Complete the folder: a checkpoint, summary.json, the curves. -> the summary

        `stopped` is the error that ended the run. A run that ended before it had measured or learned anything leaves
        no folder, so that its name is free again.
        """
        state = self.state
        result = summary(
            algorithm=self.config.algorithm,
            model=self.config.model,
            steps=state.step,
            seconds=seconds,
            before=state.before,
            after=state.after,
            totals=state.totals,
            stopped=stopped,
        )
        if state.before is None:
            self.trackers.finish(result)
            self.folder.discard()
            return result
        self.save()
        self.folder.write_json("summary.json", result)
        if state.step and not self.folder.silent:
            model = shown(self.config.model)
            title = f"{self.config.algorithm} on {model}, {self.sampler.task.name}, seed {self.config.seed}"
            draw_run(self.folder.path, title=title)
        self.trackers.finish(result)  # last: a slow one holds up nothing that is to be kept
        return result

    def learn(self, collected: Collected, *, sampled_s: float) -> dict[str, Any]:
        """Train on a step's groups; -> its row of metrics. From here to the end of the step nothing interrupts."""
        began = time.perf_counter()
        settings = self.config
        batches = build(
            collected.trained,
            self.learner.row,
            updates=settings.train.updates,
            mask_truncated=settings.rollout.overlong.mask_truncated,
            share=self.learner.mesh.share,
        )
        credits = credit(
            collected.trained,
            self.learner.row,
            updates=settings.train.updates,
            first_update=self.learner.optimizer.updates + 1,
        )
        metrics = self.learner.train(batches, self.watch.progress)
        state = self.state
        state.step, state.cursor, state.carried = state.step + 1, collected.cursor, collected.carried
        state.update = self.learner.optimizer.updates
        state.totals.add(collected)
        self.engine.load(state.step, gathered(self.learner.policy.module) if self.learner.mesh.slices else None)
        self.folder.append("ledger.jsonl", {"step": state.step, **collected.ledger})
        self.folder.write_rollouts(state.step, collected.fates, credits)
        seconds = {"time/sample": sampled_s, "time/train": time.perf_counter() - began}
        counts = {"step": state.step, "update": state.update}
        solved = self.config.task.solved
        return counts | step_record(collected, metrics, seconds, credits=credits, solved=solved)

    def record(self, record: dict[str, Any], steps: int, on_step: OnStep | None) -> None:
        """Evaluate and save if this step's turn has come, and write the step's row, whatever the evaluation does."""
        step, every = self.state.step, self.config.eval.every
        ended = None
        try:
            if every and step % every == 0 and step < steps:
                record |= self.measure(f"step {step}")[1]
        except (Stopped, StropError) as error:  # all ranks have it, so all can still tell the step
            ended = error
        finally:
            self.folder.append("metrics.jsonl", record)
            self.trackers.log(step, record)
            self.watch.stepped(record, steps)
        self.tell(on_step, record)
        if ended:
            raise ended
        if self.config.save.every and step % self.config.save.every == 0:
            self.save()

    def measure(self, name: str) -> tuple[Evaluation, dict[str, float]]:
        """Evaluate on the held-out prompts; -> the evaluation, and what metrics.jsonl keeps of it."""
        tick = interruptible("evaluate", self.watch, self.stopper)
        part = self.sampler
        result = held_out_accuracy(self.engine, part.task, part.encode, self.config, progress=tick, spread=part.spread)
        self.folder.append("evaluations.jsonl", {"step": self.state.step, **result.record()})
        self.watch.evaluated(name, result)
        best = result.pass_at[max(result.pass_at)]
        kept = {"avg": result.avg, "pass": best, "maj": result.maj, "greedy": result.greedy}
        metrics = {f"eval/{key}": estimate.value for key, estimate in kept.items()}
        if name in ("before", "after"):  # one between steps is in the row of its step
            self.trackers.log(self.state.step, metrics)
        return result, metrics

    def save(self) -> None:
        """Write a checkpoint of this step, and let old ones go."""
        self.watch.progress("save", 0, 1)
        if self.learner.mesh.slices:  # an error may have come between the updates of a step
            self.engine.load(self.state.step, gathered(self.learner.policy.module))
        write_model = partial(write, self.engine.module, self.engine.tokenizer)
        write_checkpoint(self.folder, self.state, self.learner, write_model, self.config)
        self.watch.progress("save", 1, 1)
