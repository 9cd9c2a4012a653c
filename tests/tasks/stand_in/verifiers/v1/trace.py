from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from verifiers.v1.graph import MessageNode


class AgentInfo(BaseModel):
    config: Any


class TraceTask(BaseModel):
    type: str
    data: Any
    key: str | None = None
    hash: str | None = None


class ModelCall(BaseModel):
    node: int | None = None
    finish_reason: str | None = None


class Reward(BaseModel):
    score: float
    weight: float = 1.0


class Trace(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: TraceTask
    agent: AgentInfo
    state: Any
    nodes: list[MessageNode]
    calls: list[ModelCall]
    is_completed: bool
    ok: bool
    stop_condition: str
    rewards: dict[str, Reward | None] = Field(default_factory=dict)
    metrics: dict[str, float | None] = Field(default_factory=dict)

    @property
    def reward(self) -> float:
        return sum(each.score * each.weight for each in self.rewards.values() if each)

    @property
    def last_reply(self) -> str:
        return [node.message.content for node in self.nodes if node.sampled][-1].strip()

    @property
    def transcript(self) -> str:
        return "\n\n".join(f"[{node.message.role}]\n{node.message.content}" for node in self.nodes)
