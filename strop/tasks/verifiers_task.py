"""Environments of verifiers that ask once (extra `verifiers`): their problems, and their rewards on one completion.

    task: {kind: verifiers, name: my-environment, data: {settings: {split: train}}}

`name` is an installed taskset (version 1 of the library's interface), `settings` are its own. An environment that goes
on after one completion, or needs a machine, tools or another model, is refused with the reason.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
from typing import TYPE_CHECKING, Any

from strop.errors import ConfigError, DataError
from strop.names import did_you_mean, nearest
from strop.rewards.scorer import Scorer
from strop.tasks.file_task import FileTask, Rows, questions, set_aside
from strop.types import Prompt

if TYPE_CHECKING:
    from types import ModuleType

SCORE = "strop.tasks.verifiers_score"


def make(settings: Any, seed: int, scorer: Scorer) -> FileTask:
    """The task of a checked `task` section of kind verifiers. One different question in ten is held out.

    Raises:
        ConfigError: the library or the environment is missing, does not take the settings, or asks more than once.
        DataError: it has no problems.
    """
    if not settings.name:
        raise ConfigError("task.name: a verifiers task needs the name of an environment, an installed taskset")
    reader = importlib.import_module(SCORE)
    options = json.dumps(settings.data.settings)
    taskset = loaded(reader, settings.name, options)
    try:
        problems = list(taskset)
    except Exception as error:
        raise DataError(f"verifiers {settings.name}: its problems: {type(error).__name__}: {error}") from error
    if not problems:
        raise DataError(f"verifiers {settings.name}: it has no problems")
    refuse_more_than_text(reader, settings.name, problems)
    prompts = tuple(as_prompt(reader, settings.name, options, problem) for problem in problems)
    asked = questions(prompts)
    held = set_aside(prompts, asked)
    taken = set(questions(held))
    rows = tuple(prompt for prompt, name in zip(prompts, asked, strict=True) if name not in taken)
    if not rows:
        raise DataError(f"verifiers {settings.name}: no problem is left to train on once one is held out")
    return Rows(f"verifiers {settings.name}", rows, held, f"{len(prompts)} problems", ()).task(scorer, seed)


def loaded(reader: ModuleType, name: str, options: str) -> Any:
    """The taskset of a name and settings.

    Raises:
        ConfigError: there is none, it does not take them, or it is not for a single turn of text.
    """
    library = reader.library
    try:
        kind = library.taskset_config_type(name)
    except (ImportError, TypeError, AttributeError, ValueError) as error:
        raise ConfigError(f"task.name: verifiers cannot load {name!r}: {first_line(error)}") from error
    try:
        config = reader.config_of(name, options)
    except ValueError as error:
        raise ConfigError(refused(name, error, list(kind.model_fields))) from error
    taskset = library.load_taskset(config)
    why = more_than_once(library, name, taskset)
    if why:
        raise ConfigError(f"task.name: verifiers {name} is not for a single turn: {'; '.join(why)}")
    return taskset


def refused(name: str, error: ValueError, fields: list[str]) -> str:
    """What an environment says of settings it does not take: the first of them, and the nearest that there is."""
    faults = error.errors() if hasattr(error, "errors") else []  # type: ignore[attr-defined]
    if not faults:
        return f"task.data.settings: {name} does not take them: {first_line(error)}"
    key = ".".join(map(str, faults[0]["loc"]))
    own = sorted(set(fields) - {"id"})
    near = did_you_mean(nearest(key, own)) if key not in own else ""
    return f"task.data.settings.{key}: {name}: {faults[0]['msg']}; it has {', '.join(own)}{near}"


def more_than_once(library: Any, name: str, taskset: Any) -> list[str]:
    """Why an environment needs more than one completion of a text; nothing if it does not."""
    task = library.task_type(name)
    environment = library.environment_class(name)
    hooks = ("setup", "finalize", "stage_verifier")
    changed = [hook for hook in hooks if getattr(task, hook) is not getattr(library.Task, hook)]
    reasons = {
        f"its environment {environment.__name__} plays the turns itself": environment is not library.SingleAgentEnv,
        "it has a harness of its own": library.default_harness_id(name) != "bash",
        "its problems have no end": not taskset.bounded,
        "it needs a container": task.NEEDS_CONTAINER,
        f"{task.__name__} prepares a machine in {', '.join(changed)}": bool(changed),
        "it has tools": bool(taskset.toolsets(taskset.config) or task.toolsets(taskset.config.task)),
        "a judge, which is another model, scores it": bool(taskset.config.task.judges),
    }
    return [reason for reason, holds in reasons.items() if holds]


def refuse_more_than_text(reader: ModuleType, name: str, problems: list[Any]) -> None:
    """Refuse a problem that does not open with text, and rewards that look into a machine."""
    first = problems[0]
    for kind in ("reward", "metric"):
        for function in first.hooks(kind):
            runtime = inspect.signature(function).parameters.get("runtime")
            if runtime is not None and runtime.default is inspect.Parameter.empty:
                why = f"its {kind} {function.__name__} looks into the machine that an agent worked on"
                raise ConfigError(f"task.name: verifiers {name} is not for a single turn: {why}")
    for problem in problems:
        if problem.data.image:
            raise ConfigError(
                f"task.name: verifiers {name} is not for a single turn: problem {problem.data.idx} has an image"
            )
        try:
            reader.messages_of(problem.data)
        except ValueError as error:
            raise ConfigError(
                f"task.name: verifiers {name} is not for a single turn: problem {problem.data.idx} has {error}"
            ) from error


def as_prompt(reader: ModuleType, name: str, options: str, problem: Any) -> Prompt:
    """A problem as a prompt; what the environment's data has beyond every other's are columns of their own."""
    data = problem.data
    own = set(type(data).model_fields) - set(reader.library.TaskData.model_fields)
    messages = reader.messages_of(data)
    content = messages[0]["content"] if [each["role"] for each in messages] == ["user"] else tuple(messages)
    columns = {
        **data.model_dump(mode="json", include=own),
        "environment": name,
        "settings": options,
        "task": data.model_dump_json(exclude_unset=True),
    }
    return Prompt(str(problem.key)[:16], content, columns, where=f"{name}:{data.idx}")


def first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
