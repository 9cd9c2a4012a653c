"""Which groups have signal: judged on the verifier's score, never on the reward that the length penalty has shaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strop.types import Fate, Group

TOLERANCE = 1e-6
"""Scores this close are the same score."""


@dataclass(frozen=True, slots=True)
class Filter:
    """mixed: a group trains if its scores differ by more than `tolerance` (DAPO's 0 < #correct < G). none: all train.

    A group without spread is all_right if its score reaches `solved`, else all_wrong. Completions that could not be
    scored are left out of it; a group that has none or one besides them is errored.
    """

    kind: Literal["mixed", "none"] = "mixed"
    solved: float = 1.0
    tolerance: float = TOLERANCE

    def fate(self, group: Group) -> Fate:
        scores = group.scores
        if not scores or (group.unscorable and len(scores) == 1):
            return "errored"
        if self.kind == "none" or spread(scores) > self.tolerance:
            return "trained"
        return "all_right" if solves(min(scores), self.solved, self.tolerance) else "all_wrong"


def solves(score: float, solved: float, tolerance: float = TOLERANCE) -> bool:
    """Whether a score counts as right: it reaches `solved`, but for what floats leave (0.1 + 0.7 reaches 0.8)."""
    return score >= solved - tolerance


def spread(scores: tuple[float, ...]) -> float:
    """max - min: exact where a standard deviation leaves float noise (three copies of 0.1 have std 1.4e-17)."""
    return max(scores) - min(scores)
