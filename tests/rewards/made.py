"""Prompts, completions and files of rewards, and a reward asked without any process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from strop.rewards.adapters import Question, Written, values_of
from strop.rewards.find import as_reward
from strop.rewards.scorer import Part, Scorer, Scoring, make_scorer
from strop.rewards.values import Value
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


CHAT = [{"role": "user", "content": "2+2="}]
ROW = {"answer": "4", "data_source": "sums", "extra_info": {"index": 7}}
TEXTS = ("4", "5", "")


def ask(
    function: Callable[..., Any], *texts: str, prompt: Any = "2+2=", row: dict[str, Any] | None = None, **how: Any
) -> list[Value]:
    written = [Written(text, ids=(7, 8, place), step=3) for place, text in enumerate(texts or TEXTS)]
    return values_of(as_reward(function), Question(prompt, ROW if row is None else row, "'p1'"), written, **how)


def scores(values: Sequence[Value]) -> list[float | None]:
    assert not [value.error for value in values if value.error]
    return [value.score for value in values]


def the_error(values: Sequence[Value]) -> str:
    [error] = {value.error for value in values}
    assert {value.score for value in values} == {None}
    return error
