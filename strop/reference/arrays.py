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


def ids(group: ArrayLike) -> list[int]:
    """Group ids as whole numbers; a ValueError for one that is none."""
    for i, g in enumerate(np.asarray(group).ravel()):
        if not float(g).is_integer():
            raise ValueError(f"group[{i}] is {g}: a group id is a whole number")
    return [int(g) for g in np.asarray(group)]


def masked(mask: ArrayLike, group: ArrayLike) -> tuple[Grid, list[int]]:
    """The mask row by row, and the group of each row; a ValueError if they are not [B, T] of 0 and 1, and [B]."""
    found = floats(mask)
    if found.ndim != 2:
        raise ValueError(f"mask must be [B, T], got {[*found.shape]}")
    if np.shape(group) != found.shape[:1]:
        raise ValueError(f"group must be [B] = [{len(found)}], one id per completion, got {[*np.shape(group)]}")
    for i, t in np.argwhere((found != 0) & (found != 1)):
        raise ValueError(f"mask[{i}, {t}] is {found[i, t]:g}: a token trains (1) or does not (0)")
    return found.tolist(), ids(group)


def paired(name: str, value: ArrayLike, group: ArrayLike) -> tuple[list[float], list[int]]:
    """One number and one group id for each completion; a ValueError if they are not [B] and [B]."""
    if np.ndim(value) != 1 or np.shape(value) != np.shape(group):
        raise ValueError(f"need {name} [B] and group [B], got {[*np.shape(value)]} and {[*np.shape(group)]}")
    return [float(v) for v in floats(value)], ids(group)


def same_shape(mask: ArrayLike, given: dict[str, ArrayLike | None]) -> None:
    """A ValueError for what is there and has not the shape of the mask."""
    for name, value in given.items():
        if value is not None and np.shape(value) != np.shape(mask):
            raise ValueError(f"{name} must be {[*np.shape(mask)]} like the mask, got {[*np.shape(value)]}")


def same_tops(mask: ArrayLike, given: dict[str, ArrayLike | None]) -> None:
    """The same for what is K ids deep at each token of the mask."""
    for name, value in given.items():
        if value is not None and (np.ndim(value) != 3 or np.shape(value)[:2] != np.shape(mask)):
            text = f"{[*np.shape(mask)]} like the mask and K ids deep, got {[*np.shape(value)]}"
            raise ValueError(f"{name} must be {text}")


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
