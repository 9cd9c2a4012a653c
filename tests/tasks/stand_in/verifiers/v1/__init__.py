from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from verifiers.v1.state import State, concrete
from verifiers.v1.trace import ModelCall, Reward, Trace

__all__ = ["ModelCall", "State", "Trace"]

D, C = TypeVar("D"), TypeVar("C")


class SystemMessage(BaseModel):
    role: str = "system"
    content: Any


class UserMessage(BaseModel):
    role: str = "user"
    content: Any


class AssistantMessage(BaseModel):
    role: str = "assistant"
    content: str | None = None


class AgentConfig(BaseModel):
    pass


class TaskConfig(BaseModel):
    judges: list[Any] = Field(default_factory=list)


class TasksetConfig(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str = ""
    task: TaskConfig = TaskConfig()


class TaskData(BaseModel):
    model_config = ConfigDict(frozen=True)

    idx: int | None = None
    prompt: Any = None
    system_prompt: str | None = None
    image: str | None = None


class Task(Generic[D]):
    NEEDS_CONTAINER: ClassVar[bool] = False

    def __init__(self, data: Any, config: Any = None) -> None:
        self.data, self.config = data, config or TaskConfig()

    @property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(self.data.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()

    @property
    def key(self) -> str:
        return self.hash

    async def setup(self, trace: Any, runtime: Any) -> None: ...

    async def finalize(self, trace: Any, runtime: Any) -> None: ...

    async def stage_verifier(self, trace: Any, runtime: Any) -> None: ...

    def hooks(self, kind: str) -> list[Callable[..., Any]]:
        return [getattr(self, name) for name in dir(type(self)) if hasattr(getattr(type(self), name), f"is_{kind}")]

    async def score(self, trace: Trace, runtime: Any = None) -> None:
        available = {"task": self.data, "trace": trace}

        def call(function: Callable[..., Any]) -> Any:
            return function(**{key: available[key] for key in inspect.signature(function).parameters})

        for function, value in zip(metrics := self.hooks("metric"), await together(map(call, metrics)), strict=True):
            trace.metrics[function.__name__] = float(value)
        for function, value in zip(rewards := self.hooks("reward"), await together(map(call, rewards)), strict=True):
            trace.rewards[function.__name__] = Reward(score=value, weight=function.weight)  # type: ignore[attr-defined]

    @classmethod
    def data_type(cls) -> Any:
        return concrete(cls, TaskData) or TaskData

    @classmethod
    def toolsets(cls, config: Any) -> list[Any]:
        return []


async def together(waiting: Iterable[Any]) -> list[Any]:
    return await asyncio.gather(*waiting)


class Taskset(ABC, Generic[D, C]):
    INFINITE = False

    def __init__(self, config: Any) -> None:
        self.config = config

    @property
    def bounded(self) -> bool:
        return not self.INFINITE

    @abstractmethod
    def load(self) -> Iterable[Any]: ...

    def __iter__(self) -> Iterator[Any]:
        for idx, task in enumerate(self.load()):
            task.data = task.data.model_copy(update={"idx": idx})
            yield task

    @classmethod
    def toolsets(cls, config: Any) -> list[Any]:
        return []


class Env: ...


class SingleAgentEnv(Env): ...


def marked(kind: str, **more: Any) -> Callable[..., Any]:
    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        for name, value in {f"is_{kind}": True, **more}.items():
            setattr(function, name, value)
        return function

    return mark


def reward(function: Any = None, weight: float = 1.0) -> Any:
    mark = marked("reward", weight=weight)
    return mark if function is None else mark(function)


def metric(function: Any) -> Any:
    return marked("metric")(function)


def exported(name: str, base: type) -> Any:
    module = importlib.import_module(name.replace("-", "_"))
    found = [getattr(module, each) for each in module.__all__]
    return next((each for each in found if issubclass(each, base)), None)


def taskset_config_type(name: str) -> Any:
    kind = exported(name, Taskset)
    if kind is None:
        raise TypeError(f"taskset module {name!r} exports no Taskset subclass via `__all__`")
    return concrete(kind, TasksetConfig) or TasksetConfig


def task_type(name: str) -> Any:
    return concrete(exported(name, Taskset), Task)


def load_taskset(config: Any) -> Any:
    return exported(config.id, Taskset)(config)


def environment_class(name: str) -> Any:
    return exported(name, Env) or SingleAgentEnv


def default_harness_id(name: str) -> str:
    return "bash"
