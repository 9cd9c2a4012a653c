"""Rewards that hang, die, flood, multiply or mislead: one reward whose completions name what it is to do.

Each of HOSTILE is harmful by accident or by design, within bounds that spare the machine: bombs are small, and what
is allocated is more than a worker may have, less than the machine has. A completion that is no such name is good.
"""

from __future__ import annotations

from typing import Any

from tests.rewards import hostile_output, hostile_processes, hostile_time, hostile_values
from tests.rewards.hostile_kinds import HOSTILE, KEPT

__all__ = ["HOSTILE", "KEPT", "score"]
KINDS = (hostile_time, hostile_processes, hostile_output, hostile_values)


def score(prompt: str, completion: str, **columns: Any) -> Any:
    """What the completion is about; 1.0 for one that names nothing hostile."""
    return HOSTILE[completion]() if completion in HOSTILE else 1.0
