"""What a run knows of a reward: its name and signature, never its module, which only workers import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from strop.rewards.find import Reward
from strop.rewards.signature import Signature


@dataclass(frozen=True, slots=True)
class Described:
    """A reward's name in errors, how it is called, whether it finds answers to vote on, and a hash of its file."""

    name: str
    signature: Signature
    votes: bool = False
    source: str = ""

    @classmethod
    def of(cls, reward: Reward) -> Described:
        return cls(reward.name, reward.signature, reward.voted is not None, reward.source)

    def record(self) -> dict[str, Any]:
        """It as JSON has it; `read` is the way back."""
        signature = {key: sorted(v) if isinstance(v, frozenset) else v for key, v in asdict(self.signature).items()}
        return {"name": self.name, "signature": signature, "votes": self.votes, "source": self.source}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Described:
        given = record["signature"]
        sets = {key: frozenset(given[key]) for key in ("takes", "needs")}
        signature = Signature(**{**given, **sets, "given": tuple(given["given"])})
        return cls(record["name"], signature, record["votes"], record["source"])


def blindness(reward: Described) -> str:
    """What there is to say of a reward that names no parameter; "" of others."""
    if not reward.signature.blind:
        return ""
    return (
        f"reward {reward.name} has the parameters (*args, **kwargs), so it is called with prompt and completion "
        "by place and every column by name; if a decorator hides its own, put functools.wraps(function) on the wrapper"
    )
