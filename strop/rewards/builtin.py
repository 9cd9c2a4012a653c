"""The rewards that strop brings: a name in `task.reward`, and where the function is.

Each is an ordinary reward in its own module, with an `answer` beside it; nothing else knows that they are built in.
"""

from __future__ import annotations

from strop.errors import DataError
from strop.rewards.gold import gold, has_gold
from strop.types import Prompt

BUILTIN = {
    "math": "strop.rewards.maths:score",
    "boxed": "strop.rewards.boxed:score",
    "hash": "strop.rewards.hashes:score",
    "choice": "strop.rewards.choice:score",
    "format": "strop.rewards.formats:score",
    "length": "strop.rewards.length:score",
    "code": "strop.rewards.code:score",
}

NEED_GOLD = frozenset({"math", "boxed", "hash", "choice"})


def lacking(use: str, prompt: Prompt) -> str:
    """What a built-in reward needs of a row beyond its parameters and does not find, in a sentence; "" if nothing."""
    if use in NEED_GOLD and not has_gold(prompt.columns):
        here = ", ".join(prompt.columns) or "none"
        names = "answer, solution, ground_truth, reward_model.ground_truth or label"
        return f"{use} needs the right answer, and prompt {prompt.label} has no column {names}; it has {here}"
    if use in NEED_GOLD:
        try:
            read_gold(use, prompt)
        except DataError as error:
            return f"{use}: {error} (prompt {prompt.label})"
    if use == "code":
        from strop.rewards.code_cases import cases_of

        try:
            cases_of(prompt.columns, prompt.content if isinstance(prompt.content, str) else "")
        except DataError as error:
            return f"{error} (prompt {prompt.label})"
    return ""


def read_gold(use: str, prompt: Prompt) -> None:
    """Read the right answer of a row as the built-in reward does.

    Raises:
        DataError: it cannot.
    """
    right = gold(prompt.columns)
    if use == "choice":
        from strop.rewards.choice import options_of, right_label

        right_label(right, options_of(prompt.columns))
    else:
        from strop.rewards.verdict import text_of_gold

        text_of_gold(right)


def get_ready(use: str, sandbox: str) -> None:
    """Ask a built-in reward whether it can work here.

    Raises:
        ConfigError: it cannot; the message says what to do.
    """
    if use == "code":
        from strop.rewards.code import ready

        ready("unsafe" if sandbox == "unsafe" else "auto")
