"""How an environment of verifiers scores a completion: its rewards and metrics, on a trace of a single turn.

It imports the library (version 1 of its interface), which takes seconds, so nothing imports it before it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from strop.errors import ConfigError

try:
    import verifiers.v1 as library  # type: ignore[import-not-found]
    from verifiers.v1.graph import MessageNode  # type: ignore[import-not-found]
    from verifiers.v1.state import state_cls  # type: ignore[import-not-found]
    from verifiers.v1.trace import AgentInfo, TraceTask  # type: ignore[import-not-found]
except ImportError as error:
    text = "task.kind: verifiers needs the library verifiers, 0.4: pip install 'strop[verifiers]'"
    raise ConfigError(f"{text} ({error})") from error


async def score(completion: str, environment: str, settings: str, task: str) -> dict[str, float]:
    """The weighted sum of the environment's rewards as `score`, and each reward and metric by its name.

    settings    of the environment, as JSON
    task        the data of the problem, as JSON
    """
    problem = task_of(environment, settings, task)
    trace = single_turn(problem, completion)
    await problem.score(trace)
    unscored = [name for name, found in {**trace.rewards, **trace.metrics}.items() if found is None]
    if unscored:
        raise ValueError(f"environment {environment} gave no value for {unscored[0]}")
    return {
        **trace.metrics,
        **{name: found.score for name, found in trace.rewards.items()},
        "score": trace.reward,
    }


def config_of(environment: str, settings: str) -> Any:
    """The settings of an environment, checked by its own rules.

    Raises:
        ValueError: it does not take them.
        ModuleNotFoundError: it is not installed.
    """
    return library.taskset_config_type(environment).model_validate({**json.loads(settings), "id": environment})


@lru_cache(maxsize=64)
def task_of(environment: str, settings: str, task: str) -> Any:
    """A problem from its data; what the environment loads its problems from is not opened."""
    kind = library.task_type(environment)
    return kind(kind.data_type().model_validate_json(task), config_of(environment, settings).task)


def single_turn(problem: Any, completion: str) -> Any:
    """The trace of an agent that was asked once and answered so."""
    messages = [kinds()[each["role"]](content=each["content"]) for each in messages_of(problem.data)]
    nodes = [MessageNode(parent=place - 1 if place else None, message=each) for place, each in enumerate(messages)]
    reply = library.AssistantMessage(content=completion)
    nodes.append(MessageNode(parent=len(nodes) - 1, message=reply, sampled=True))
    return library.Trace(
        task=TraceTask(type=type(problem).__name__, data=problem.data, key=problem.key, hash=problem.hash),
        agent=AgentInfo(config=library.AgentConfig()),
        state=state_cls(type(problem))(),
        nodes=nodes,
        calls=[library.ModelCall(node=len(nodes) - 1, finish_reason="stop")],
        is_completed=True,
        ok=True,
        stop_condition="agent_completed",
    )


def kinds() -> Mapping[str, Any]:
    return {"system": library.SystemMessage, "user": library.UserMessage, "assistant": library.AssistantMessage}


def messages_of(data: Any) -> list[dict[str, str]]:
    """What the policy is shown of a problem.

    Raises:
        ValueError: it opens with no text: there is none, or it holds images, or calls of tools.
    """
    found = [{"role": "system", "content": data.system_prompt}] if data.system_prompt else []
    if isinstance(data.prompt, str):
        return [*found, {"role": "user", "content": data.prompt}]
    for message in data.prompt or ():
        if message.role not in kinds() or not isinstance(message.content, str):
            raise ValueError(f"a message of role {message.role} that is not a text alone")
        found.append({"role": message.role, "content": message.content})
    if not data.prompt:
        raise ValueError("no prompt: its user opens the conversation")
    return found
