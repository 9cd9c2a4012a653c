"""Prompts, completions and files of rewards, as the tests of the scorer need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from strop.rewards.scorer import Part, Scorer, Scoring, make_scorer
from strop.types import Completion, Prompt, Verdict

PROMPT = Prompt("p1", "2+2=", {"answer": "4"})
HOSTILE = str(Path(__file__).with_name("hostile.py"))


def completions(*texts: str, finish: Any = "stop") -> list[Completion]:
    return [Completion((5, place), (-1.0, -1.0), text, finish, 0) for place, text in enumerate(texts)]


@contextmanager
def scorer_of(*uses: str, **how: Any) -> Iterator[Scorer]:
    """A scorer of these rewards, closed in the end."""
    scorer = make_scorer([Part(use) for use in uses], Scoring(**how))
    try:
        yield scorer
    finally:
        scorer.close()


def reward_file(folder: Path, text: str, name: str = "mine.py") -> str:
    """The path of a new file with this text."""
    path = folder / name
    path.write_text(dedent(text))
    return str(path)


def numbers(verdicts: Sequence[Verdict]) -> list[float]:
    """The scores of verdicts, none of which failed."""
    assert not [verdict.error for verdict in verdicts if verdict.error]
    return [verdict.score for verdict in verdicts]
