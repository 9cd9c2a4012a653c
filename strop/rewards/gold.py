"""The right answer of a row, under the names that data files give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strop.errors import DataError

NAMES = ("answer", "solution", "ground_truth", "reward_model", "label")
"""Where the right answer is looked for, in this order; `reward_model` holds it as its `ground_truth`."""


def gold(columns: Mapping[str, Any]) -> Any:
    """The right answer of a row, as the row has it: the first of NAMES that is there and is not None.

    answer   solution   ground_truth   reward_model["ground_truth"]   label

    Raises:
        DataError: the row has none of them.
    """
    for name in NAMES:
        found = nested(columns.get(name)) if name == "reward_model" else columns.get(name)
        if found is not None:
            return found
    raise DataError(
        f"the row has no right answer: it has the columns {', '.join(columns) or 'none'}; "
        "name one of them answer with task.data.columns"
    )


def has_gold(columns: Mapping[str, Any]) -> bool:
    """Whether the row has a right answer."""
    return any(
        (nested(columns.get(name)) if name == "reward_model" else columns.get(name)) is not None for name in NAMES
    )


def ground_truth(columns: Mapping[str, Any]) -> Any:
    """The right answer as verl hands it to a reward: `ground_truth`, alone or in `reward_model`; else `gold`."""
    for found in (columns.get("ground_truth"), nested(columns.get("reward_model"))):
        if found is not None:
            return found
    return gold(columns)


def nested(value: Any) -> Any:
    return value.get("ground_truth") if isinstance(value, Mapping) else None
