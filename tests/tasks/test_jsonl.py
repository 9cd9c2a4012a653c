"""A JSONL task: every line checked, one in ten held out, epochs that follow from the seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strop.errors import DataError
from strop.tasks.jsonl import JsonLines, read_task
from strop.tasks.reward import as_reward


def task(path: Path, *, held_out: Path | None = None, seed: int = 0, **keys: str) -> JsonLines:
    reward = as_reward(lambda prompt, completion, **columns: 1.0)
    named = {"prompt_key": "prompt", **keys}
    return read_task(path, held_out, reward=reward, seed=seed, **named)


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ROWS = [{"prompt": f"{i}+1=", "answer": str(i + 1), "level": i % 3} for i in range(30)]


def test_one_row_in_ten_is_held_out_and_never_trained_on(tmp_path: Path) -> None:
    mine = task(write(tmp_path / "d.jsonl", ROWS))
    held = {prompt.id for prompt in mine.held_out(99)}
    assert len(held) == 3
    assert held.isdisjoint(mine.prompt(draw).id for draw in range(200))
    assert held == {prompt.id for prompt in task(tmp_path / "d.jsonl", seed=9).held_out(99)}


def test_every_epoch_sees_every_row_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    mine = task(write(tmp_path / "d.jsonl", ROWS))
    first, second = ([mine.prompt(draw).id for draw in range(e * 27, e * 27 + 27)] for e in (0, 1))
    assert sorted(first) == sorted(second)
    assert len(set(first)) == 27
    assert first != second
    assert first == [task(tmp_path / "d.jsonl").prompt(draw).id for draw in range(27)]
    assert first != [task(tmp_path / "d.jsonl", seed=1).prompt(draw).id for draw in range(27)]


def test_every_other_column_reaches_the_reward_by_name(tmp_path: Path) -> None:
    mine = task(write(tmp_path / "d.jsonl", ROWS))
    assert set(mine.prompt(0).columns) == {"answer", "level"}


def test_a_held_out_file_is_taken_as_it_is_and_its_rows_leave_the_training_rows(tmp_path: Path) -> None:
    held = write(tmp_path / "h.jsonl", ROWS[:2])
    mine = task(write(tmp_path / "d.jsonl", ROWS), held_out=held)
    assert [prompt.content for prompt in mine.held_out(99)] == ["0+1=", "1+1="]
    assert {"0+1=", "1+1="}.isdisjoint(str(mine.prompt(draw).content) for draw in range(60))


@pytest.mark.parametrize(
    "line, says",
    [
        (b'{"prompt": "a"', r"d.jsonl:3: not JSON at column 15"),
        (b"[1]", r"d.jsonl:3: expected a JSON object, found list"),
        (b'{"question": "a"}', r"d.jsonl:3: no key 'prompt'; it has question. Set task.prompt_key"),
        (b'{"prompt": 3}', r"d.jsonl:3: a prompt is a text or a list of messages"),
        (b'{"prompt": [{"role": "user"}]}', r"d.jsonl:3: a prompt is a text or a list of messages"),
        (b'{"prompt": "\xff"}', r"d.jsonl:3: not UTF-8 at byte 13"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(tmp_path: Path, line: bytes, says: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "a", "answer": "b"}\n\n' + line + b"\n")
    with pytest.raises(DataError, match=says):
        task(path)


def test_a_missing_an_empty_and_a_one_row_file_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        task(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="it holds no rows"):
        task(write(tmp_path / "d.jsonl", []))
    with pytest.raises(DataError, match="no prompt is left to train on"):
        task(write(tmp_path / "d.jsonl", ROWS[:1]))


def test_copies_of_a_row_are_told_and_are_held_out_together(tmp_path: Path) -> None:
    """Report B55: a file that repeats its rows; nothing is dropped in silence."""
    mine = task(write(tmp_path / "d.jsonl", ROWS[:3] * 100))
    assert mine.description == "d.jsonl, 200 prompts to train on, 2 different"
    [held] = mine.held_out(99)
    assert held.id not in {mine.prompt(draw).id for draw in range(200)}


def test_a_prompt_is_named_by_its_file_and_line(tmp_path: Path) -> None:
    mine = task(write(tmp_path / "d.jsonl", ROWS))
    labels = {mine.prompt(draw).label for draw in range(27)} | {prompt.label for prompt in mine.held_out(9)}
    assert labels == {f"{tmp_path}/d.jsonl:{line}" for line in range(1, 31)}


def test_equal_prompts_with_unlike_answers_are_two_prompts(tmp_path: Path) -> None:
    rows = [{"prompt": "same", "answer": str(i)} for i in range(20)]
    mine = task(write(tmp_path / "d.jsonl", rows))
    assert len({mine.prompt(draw).id for draw in range(18)}) == 18
