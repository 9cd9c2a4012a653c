"""The reward `code`: 1.0 if the program that the completion holds passes every test case of its row, else 0.0.

What a row's cases look like: strop.rewards.code_cases. What a program may do: strop.rewards.sandbox. A program that is
wrong, raises, hangs, or takes too much scores 0.0; a sandbox that does not start, or a row without cases that can be
run, is an error, and the completion is unscorable.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import Any, cast

from strop.rewards.code_cases import NO_PYTHON, cases_of, parsed
from strop.rewards.code_judge import judge
from strop.rewards.extract import after_thought
from strop.rewards.sandbox import Kind, require

DEADLINE_S = 10.0
SHARE = 0.8
"""Of a reward's deadline a program gets so much: the rest starts sandboxes and reports."""

PYTHON = ("python", "python3", "py")


def score(completion: str, prompt: Any = "", **columns: Any) -> dict[str, float]:
    """1.0 if all cases pass, else 0.0; beside it `passed`, the share that did, and `stopped`, 1.0 if a limit ended it.

    Raises:
        DataError: the row has no test cases, or none that can be run.
        RewardError: the sandbox failed.
    """
    asked = prompt if isinstance(prompt, str) else ""
    cases = cases_of(columns, asked)
    program = whole(answer(completion), asked, str(columns.get("entry_point") or ""))
    if not program.strip():
        return {"score": 0.0, "passed": 0.0, "stopped": 0.0}
    seconds = SHARE * float(os.environ.get("STROP_DEADLINE_S", DEADLINE_S))
    kind = cast(Kind, os.environ.get("STROP_SANDBOX", "auto"))
    judged = judge(program, cases, kind=kind, seconds=seconds)
    return {
        "score": float(judged.right),
        "passed": judged.passed / judged.total,
        "stopped": float(judged.stopped),
    }


def answer(completion: str) -> str:
    """The program that a completion holds: its last Python block, else its last block of no language.

    What stands before a </think> is no answer, nor is a thought that is not closed. A completion without any block is a
    program as a whole.
    """
    text = after_thought(completion)
    found = list(blocks(text))
    if not found:
        return text
    python, plain = ([body for language, body in found if language in kinds] for kinds in (PYTHON, ("",)))
    return (python or plain or [""])[-1]


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a text, each with its language. One that is not closed reaches to the end."""
    fence, language, lines = "", "", list[str]()
    for line in text.splitlines():
        mark = fence_of(line)
        if not fence and mark:
            fence, language, lines = mark, line.strip()[len(mark) :].strip().lower(), []
        elif fence and len(mark) >= len(fence) and line.strip() == mark:
            yield language, "\n".join(lines)
            fence = ""
        elif fence:
            lines.append(line)
    if fence:
        yield language, "\n".join(lines)


def fence_of(line: str) -> str:
    """The backticks that a line begins with, if they are three or more."""
    text = line.lstrip()
    ticks = text[: len(text) - len(text.lstrip("`"))]
    return ticks if len(ticks) >= 3 else ""


def whole(program: str, prompt: str, entry: str) -> str:
    """The program; below its prompt if that begins the function and the program only goes on with it (HumanEval)."""
    if not program.strip() or not entry or f"def {entry}(" not in prompt or defines(program, entry):
        return program
    for joined in (prompt + program, f"{prompt}\n{program}"):
        if tree_of(joined):
            return joined
    return program


def defines(program: str, name: str) -> bool:
    """Whether a text is Python that somewhere gives something this name."""
    tree = tree_of(program) if name in program else None
    nodes = list(ast.walk(tree)) if tree else []
    named = {given for node in nodes for given in (getattr(node, "name", None), getattr(node, "asname", None))}
    return name in named or any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in nodes
    )


def tree_of(program: str) -> ast.Module | None:
    """The text as Python; None if it is none."""
    try:
        return parsed(program)
    except NO_PYTHON:
        return None


def ready(sandbox: Kind) -> None:
    """Nothing, if programs can be run here; to be asked once, before a run.

    Raises:
        ConfigError: they cannot; the message says what to do.
    """
    require(sandbox)
