"""What a run knows of a reward: its name and signature, never its module, which only workers import."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
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
        return cls(reward.name, reward.signature, reward.voted is not None, source(reward))

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


def source(reward: Reward) -> str:
    """A hash of the file that the reward is in, "" if there is none: a worker that starts later must read the same."""
    module = sys.modules.get(getattr(reward.function, "__module__", ""))
    path = Path(getattr(module, "__file__", None) or "")
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
