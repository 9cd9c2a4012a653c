"""Prompts that are known before a run are encoded before it: told, cut, or taken out and counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strop.errors import DataError
from strop.rollout.encode import Encoder
from strop.rollout.fit import fitting
from strop.tasks.arithmetic import Arithmetic
from strop.tasks.file_task import FileTask, Rows
from strop.tasks.find import Rescored
from strop.tasks.mixture import mix
from strop.types import Prompt
from tests.tasks.fakes import file_task, scorer, write_jsonl

LONG = "w3 w4 w5 w6 w7 w8"


def quiet(done: int, total: int) -> None:
    assert 0 < done <= total


def a_task(*texts: str, held: str = "w9") -> FileTask:
    rows = tuple(Prompt(f"id{i}", text, where=f"d.jsonl:{i}") for i, text in enumerate(texts, start=1))
    return FileTask("d.jsonl", rows, (Prompt("held", held, where="d.jsonl:9"),), scorer(), seed=0, counted="3 rows")


def encoder(tokenizer: Any, policy: Any, limit: int = 4) -> Encoder:
    return Encoder(tokenizer, max_prompt_tokens=limit, long_prompts=policy)


def test_long_prompts_are_dropped_and_counted_before_the_run(words: Any) -> None:
    """Report B42, policy drop: one row is left, and the other is counted."""
    # https://github.com/verl-project/verl/issues/1015
    task, said = fitting(a_task(LONG, "w3"), encoder(words, "drop"), quiet)
    assert [prompt.id for prompt in map(task.prompt, range(4))] == ["id2"] * 4
    assert task.description == (
        "d.jsonl, 3 rows, 1 over 4 tokens and dropped: 1 prompts to train on, 1 different, 1 held out"
    )
    assert said == (
        "1 of 3 prompts have more than 4 tokens and are dropped (task.data.long_prompts): the first is d.jsonl:1",
    )


@pytest.mark.parametrize("policy", ["error", "drop", "left", "right"])
def test_a_limit_that_is_not_reached_changes_nothing(words: Any, policy: Any) -> None:
    task = a_task(LONG, "w3")
    assert fitting(task, encoder(words, policy, limit=100), quiet) == (task, ())


@pytest.mark.parametrize(("policy", "which"), [("left", "last"), ("right", "first")])
def test_prompts_that_are_cut_are_counted_and_the_task_keeps_them(words: Any, policy: Any, which: str) -> None:
    task, said = fitting(a_task(LONG, LONG, "w3"), encoder(words, policy), quiet)
    assert len({task.prompt(draw).id for draw in range(3)}) == 3
    assert said == (
        f"2 of 4 prompts have more than 4 tokens and are cut to their {which} 4 (task.data.long_prompts): "
        "the first is d.jsonl:1",
    )


def test_by_default_a_long_prompt_is_an_error_that_names_its_row(words: Any) -> None:
    with pytest.raises(DataError, match=r"prompt d\.jsonl:2 has 7 tokens, over the limit of 4"):
        fitting(a_task("w3", LONG), encoder(words, "error"), quiet)
    with pytest.raises(DataError, match=r"prompt d\.jsonl:9 has 7 tokens, over the limit of 4"):
        fitting(a_task("w3", held=LONG), encoder(words, "error"), quiet)


def test_where_all_are_dropped_nothing_is_left_and_that_is_an_error(words: Any) -> None:
    with pytest.raises(DataError, match="d.jsonl: no prompt is left to train on: 2 are over 4 tokens and dropped"):
        fitting(a_task(LONG, LONG), encoder(words, "drop"), quiet)
    with pytest.raises(DataError, match="d.jsonl: no prompt is left held out: 1 are over 4 tokens"):
        fitting(a_task("w3", held=LONG), encoder(words, "drop"), quiet)


def test_a_prompt_that_a_task_makes_up_cannot_be_dropped(words: Any) -> None:
    with pytest.raises(DataError, match="over the limit of 1; task.data.long_prompts drop takes out what is known"):
        fitting(Arithmetic(), encoder(words, "drop", limit=1), quiet)


def test_each_task_of_a_mixture_loses_its_own_long_prompts(words: Any) -> None:
    task = mix([a_task(LONG, "w3"), a_task("w4", LONG)], [1.0, 1.0], seed=0)
    left, [said] = fitting(task, encoder(words, "drop"), quiet)
    assert {prompt.id for prompt in map(left.prompt, range(64))} == {"d.jsonl/id2", "d.jsonl 2/id1"}
    assert said.startswith("2 of 6 prompts have more than 4 tokens")
    assert left.description.count("1 over 4 tokens and dropped") == 2


def test_a_reward_without_a_deadline_is_told() -> None:
    without = scorer()
    without.warning = "reward f runs in this process"
    rows = (Prompt("a", "?"), Prompt("b", "!"))
    assert Rows("d", rows[:1], rows[1:], "", ("odd",)).task(without, 0).warnings == ("odd", without.warning)
    assert Rescored(Arithmetic(), without).warnings == (without.warning,)
    assert Rescored(Arithmetic(), scorer()).warnings == ()


def test_what_is_odd_about_the_data_and_the_template_is_told(tmp_path: Path, chat: Callable[..., Any]) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", [{"prompt": "1"}, {"prompt": ""}, {"prompt": "2"}])
    encode = Encoder(chat(template="{{ messages[0].content }}"), max_prompt_tokens=9)
    _, said = fitting(file_task(path, max_bad=1), encode, quiet)
    assert [text.split(":")[0][:33] for text in said] == [
        "the chat template has no mark whe",
        "1 of 3 rows is malformed and left",
    ]
