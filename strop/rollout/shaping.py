"""The soft overlong penalty, added to the verifier's score before any group statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strop.objective.overlong import soft_overlong
from strop.types import Completion, Rollout, Verdict


@dataclass(frozen=True, slots=True)
class Overlong:
    """DAPO Eq. 13: free up to max_tokens - buffer, then linear down to -penalty. The end token counts too."""

    max_tokens: int
    buffer: int
    penalty: float

    def shape(self, completions: Sequence[Completion], verdicts: Sequence[Verdict]) -> tuple[Rollout, ...]:
        return tuple(
            Rollout.judged(completion, verdict, self.of(completion.tokens))
            for completion, verdict in zip(completions, verdicts, strict=True)
        )

    def of(self, tokens: int) -> float:
        return float(soft_overlong(float(tokens), max_tokens=self.max_tokens, buffer=self.buffer, penalty=self.penalty))
