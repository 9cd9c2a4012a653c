"""The rewards that strop brings: a name in `task.reward`, and where the function is.

Each is an ordinary reward in its own module, with an `answer` beside it; nothing else knows that they are built in.
"""

from __future__ import annotations

BUILTIN = {
    "math": "strop.rewards.maths:score",
    "boxed": "strop.rewards.extract:boxed",
    "hash": "strop.rewards.extract:hashed",
    "choice": "strop.rewards.choice:score",
    "format": "strop.rewards.formats:score",
    "length": "strop.rewards.length:score",
    "code": "strop.rewards.code:score",
}
