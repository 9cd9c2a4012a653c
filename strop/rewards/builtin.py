"""The rewards that strop brings: a name in `task.reward`, and where the function is.

Each is an ordinary reward in its own module, with an `answer` beside it; nothing else knows that they are built in.
"""

from __future__ import annotations

from strop.rewards.gold import has_gold
from strop.types import Prompt

BUILTIN = {
    "math": "strop.rewards.maths:score",
    "boxed": "strop.rewards.extract:boxed",
    "hash": "strop.rewards.extract:hashed",
    "choice": "strop.rewards.choice:score",
    "format": "strop.rewards.formats:score",
    "length": "strop.rewards.length:score",
    "code": "strop.rewards.code:score",
}

NEED_GOLD = frozenset({"math", "boxed", "hash", "choice"})


def lacking(use: str, prompt: Prompt) -> list[str]:
    """What a built-in reward needs of a row beyond its parameters, and the row has not."""
    return ["answer"] if use in NEED_GOLD and not has_gold(prompt.columns) else []
