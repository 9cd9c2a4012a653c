"""What one key cannot know: settings that contradict each other are refused, settings without effect are pointed out.

Everything here is decided before a model loads and before torch is imported; what needs the row is in row.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from strop.config.check_task import Found, idle_keys, is_default, task_problems
from strop.config.folders import holds_model, newest_checkpoint
from strop.config.schema import Config
from strop.errors import ConfigError
from strop.policy.name import parse, wrong


def where(source: str) -> str:
    """The start of a message about a value from `source`: 'train.yaml:3: ', 'strop:tiny: ', or nothing."""
    return f"{source.removeprefix('file ')}: " if source.startswith(("file ", "strop:")) else ""


def refuse(config: Config, key: str, text: str) -> ConfigError:
    """The error for a key whose value is impossible beside the others."""
    return ConfigError(f"{where(config.sources[key])}{key}: {text}")


def check(config: Config) -> tuple[str, ...]:
    """The warnings of a configuration; ConfigError for the first thing in it that cannot mean anything."""
    for rule in RULES:
        for key, text in rule(config):
            raise refuse(config, key, text)
    idle = [(key, text) for key, text in _idle(config) if _was_set(config, key)]
    return tuple(f"{where(config.sources[key])}{key} {text}" for key, text in idle)


def _was_set(config: Config, key: str) -> bool:
    """Whether somebody asked for a value that is not the default; what a model brings nobody asked for."""
    return not is_default(key, config.value(key)) and not config.sources[key].startswith("strop:")


def _sampling(config: Config) -> Found:
    rollout = config.rollout
    if rollout.temperature <= 0:
        text = "greedy completions of a prompt are all the same; every evaluation measures greedy accuracy anyway"
        yield "rollout.temperature", f"must be greater than 0 in training, is {rollout.temperature:g}: {text}"
    if rollout.overlong.buffer > rollout.max_tokens:
        text = (
            f"{rollout.overlong.buffer} exceeds rollout.max_tokens {rollout.max_tokens}, so every completion would pay"
        )
        yield "rollout.overlong.buffer", f"{text}; give at most {rollout.max_tokens}"


def _groups(config: Config) -> Found:
    rollout, updates = config.rollout, config.train.updates
    if rollout.completions == 1 and rollout.filter == "mixed":
        text = "a group of one has no spread, so none would ever be kept; use 2 or more completions"
        yield "rollout.completions", f"1 with rollout.filter mixed: {text}"
    if 0 < rollout.max_draws < rollout.prompts:
        text = "the batch could never be filled; 0 allows 20 draws for each"
        yield "rollout.max_draws", f"{rollout.max_draws} is less than rollout.prompts {rollout.prompts}: {text}"
    if updates > rollout.prompts:
        text = f"an update takes at least one whole group; give at most {rollout.prompts}"
        yield "train.updates", f"{updates} exceeds rollout.prompts {rollout.prompts}: {text}"


def _task(config: Config) -> Found:
    yield from task_problems(config.task, config.model)


def _model(config: Config) -> Found:
    if problem := wrong(config.model):
        yield "model", problem
        return
    name = parse(config.model)
    if name.kind == "folder":
        yield from _model_folder(Path(name.location).expanduser())


def _model_folder(path: Path) -> Found:
    if holds_model(path):
        return
    saved = newest_checkpoint(path)
    if saved:
        yield "model", f"{path} is a run; its newest weights are {saved}"
    else:
        yield "model", f"{path} holds no model: it has no config.json"


RULES: tuple[Callable[[Config], Found], ...] = (_model, _sampling, _groups, _task)


def _idle(config: Config) -> Found:
    """Keys that do nothing under the chosen mode, whatever their value."""
    rollout, train = config.rollout, config.train
    if rollout.filter == "none":
        for key in ("surplus", "max_staleness", "exhaustion", "max_draws"):
            yield (
                f"rollout.{key}",
                "has no effect: rollout.filter is none, so every group is trained and none drawn again",
            )
    elif rollout.surplus == "drop":
        yield "rollout.max_staleness", "has no effect: rollout.surplus is drop, so no group is carried to a later step"
    elif rollout.max_staleness == 0:
        yield "rollout.surplus", "carry has no effect: rollout.max_staleness 0 lets no carried group into the next step"
    if rollout.overlong.buffer == 0:
        yield "rollout.overlong.penalty", "has no effect: rollout.overlong.buffer is 0"
    yield from idle_keys(config.task)
    if train.warmup_steps > train.steps:
        yield "train.warmup_steps", "is longer than the run: train.learning_rate is never reached"
    if train.lora.rank == 0:
        for key in ("alpha", "targets"):
            if config.value(f"train.lora.{key}"):
                yield f"train.lora.{key}", "has no effect: train.lora.rank is 0, so every weight is trained"
    if train.dtype == "bfloat16" and config.device == "cpu":
        yield "train.dtype", "bfloat16 is far slower than float32 on most CPUs"
