"""What every loop starts from: a batch as lists of Python floats, a choice as a formula's name and its numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Grid = list[list[float]]
"""[B][T]: one list per completion."""


def floats(value: ArrayLike) -> Floats:
    return np.asarray(value, dtype=np.float64)


def grid(value: ArrayLike) -> Grid:
    return floats(value).tolist()


def named(choice: Any) -> tuple[str, dict[str, Any]]:
    """A choice's formula and its numbers: of a record its kind and fields, of a name itself and the defaults."""
    if isinstance(choice, str):
        return choice, {}
    return choice.kind, asdict(choice)


@dataclass(frozen=True, slots=True)
class Batch:
    """The mask, and the log-probs of the policy and of the anchor that its ratio is taken against."""

    mask: Grid
    logp: Grid
    anchor: Grid

    @property
    def live(self) -> list[tuple[int, int]]:
        """Completion and position of every live token."""
        return [(i, t) for i, row in enumerate(self.mask) for t, m in enumerate(row) if m != 0]

    def steps(self, i: int) -> list[int]:
        """The live positions of completion i."""
        return [t for t, m in enumerate(self.mask[i]) if m != 0]

    def zeros(self) -> Grid:
        return [[0.0] * len(row) for row in self.mask]
