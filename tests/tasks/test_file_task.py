"""The task of a file: one question in ten held out, copies counted, epochs that follow from the seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from strop.errors import ConfigError, DataError
from strop.rollout.collect import Refill, balanced, collect
from strop.rollout.filter import Filter
from strop.types import Completion, Group, Rollout
from tests.tasks.fakes import file_task as task
from tests.tasks.fakes import write_jsonl as write
from tests.tasks.fakes import write_parquet

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


def test_a_missing_an_empty_and_a_one_row_file_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        task(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="it holds no rows"):
        task(write(tmp_path / "d.jsonl", []))
    with pytest.raises(DataError, match="no prompt is left to train on"):
        task(write(tmp_path / "d.jsonl", ROWS[:1]))


def test_copies_of_a_row_are_told_and_are_held_out_together(tmp_path: Path) -> None:
    """Report B55: a file that repeats its rows; nothing is dropped in silence."""
    # https://github.com/verl-project/verl/issues/3065
    mine = task(write(tmp_path / "d.jsonl", ROWS[:3] * 100))
    assert mine.description == "d.jsonl, 300 rows, 3 unique: 200 prompts to train on, 2 different, 1 held out"
    [held] = mine.held_out(99)
    assert held.id not in {mine.prompt(draw).id for draw in range(200)}


def test_copies_are_dropped_only_where_that_is_asked_for(tmp_path: Path) -> None:
    """Report B55: 300 rows, 3 unique, as the header says; dropping the copies is an option."""
    # https://github.com/verl-project/verl/issues/3065
    path = write(tmp_path / "d.jsonl", ROWS[:3] * 100)
    assert len(task(path).rows) == 200
    mine = task(path, duplicates="drop")
    assert mine.description == (
        "d.jsonl, 300 rows, 3 unique, 297 copies dropped: 2 prompts to train on, 2 different, 1 held out"
    )
    assert sorted(prompt.where[-2:] for prompt in mine.known()) == [":1", ":2", ":3"]
    assert sorted(mine.prompt(draw).id for draw in range(4)) == sorted(2 * [prompt.id for prompt in mine.rows])


def test_rows_that_differ_in_any_column_are_no_copies(tmp_path: Path) -> None:
    rows = [{"prompt": "b", "answer": "1", "index": 0}] + [{"prompt": "a", "answer": "1", "index": i} for i in range(3)]
    mine = task(write(tmp_path / "d.jsonl", rows), duplicates="drop")
    assert mine.description.startswith("d.jsonl, 4 rows, 4 unique: ")


def test_malformed_rows_are_left_out_up_to_the_limit_and_counted_in_the_description(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", [*ROWS[:20], {"prompt": ""}, {"prompt": "x"}])
    held = write(tmp_path / "h.jsonl", [ROWS[20], {"prompt": 3}])
    mine = task(path, held, max_bad=3)
    assert mine.description == (
        "d.jsonl, 22 rows, 20 unique, 2 malformed and left out, held-out file: 2 rows, 1 unique, 1 malformed and left "
        "out: 20 prompts to train on, 20 different, 1 held out"
    )
    [told] = mine.warnings
    assert told.startswith(f"3 of 24 rows are malformed and left out: {path}:21: column 'prompt': is empty; ")
    with pytest.raises(DataError, match=r"d.jsonl:21: .* \(3 of 24 rows are malformed; task.max_bad 3 would"):
        task(path, held, max_bad=2)


def test_a_file_of_nothing_but_malformed_rows_is_an_error_whatever_the_limit(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"d.jsonl:1: column 'prompt': is empty \(all 2 rows are malformed\)$"):
        task(write(tmp_path / "d.jsonl", [{"prompt": ""}, {"prompt": ""}]), max_bad=9)


def test_held_out_rows_may_be_in_a_file_of_another_kind(tmp_path: Path) -> None:
    mine = task(write(tmp_path / "d.jsonl", ROWS), write_parquet(tmp_path / "h.parquet", ROWS[:2]))
    assert [prompt.where[-5:] for prompt in mine.held] == ["row 1", "row 2"]
    assert len(mine.rows) == 28


def test_a_prompt_is_named_by_its_file_and_line(tmp_path: Path) -> None:
    mine = task(write(tmp_path / "d.jsonl", ROWS))
    labels = {mine.prompt(draw).label for draw in range(27)} | {prompt.label for prompt in mine.held_out(9)}
    assert labels == {f"{tmp_path}/d.jsonl:{line}" for line in range(1, 31)}


def test_equal_prompts_with_unlike_answers_keep_ids_of_their_own_and_stand_on_one_side(tmp_path: Path) -> None:
    rows = [{"prompt": f"question {i % 2}", "answer": str(i)} for i in range(20)]
    mine = task(write(tmp_path / "d.jsonl", rows))
    assert len({mine.prompt(draw).id for draw in range(10)}) == 10
    assert mine.description == "d.jsonl, 20 rows, 20 unique: 10 prompts to train on, 1 different, 1 held out"


TEXT, CHAT = "text", "messages"


@pytest.mark.parametrize("own_file", [False, True])
@pytest.mark.parametrize("prompt", [TEXT, CHAT])
def test_a_held_out_prompt_is_never_trained_on_whatever_its_rows_other_columns(
    tmp_path: Path, own_file: bool, prompt: Any
) -> None:
    """Public data sets repeat a prompt with another index and source each time."""
    asked = [f"{i}+1=" if prompt is TEXT else [{"role": "user", "content": f"{i}+1="}] for i in range(9)]
    rows = [{"prompt": asked[i % 9], "index": i, "source": f"s{i % 7}"} for i in range(90)]
    held_out = write(tmp_path / "h.jsonl", [{"prompt": asked[0], "index": -1}]) if own_file else None
    mine = task(write(tmp_path / "d.jsonl", rows), held_out=held_out)
    [held] = mine.held_out(99)
    trained = [mine.prompt(draw).content for draw in range(80)]
    assert held.content not in trained
    assert mine.description == "d.jsonl, 90 rows, 90 unique: 80 prompts to train on, 8 different, 1 held out"


def test_a_column_that_the_reward_needs_and_no_row_has_is_named_with_a_row(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", ROWS)
    with pytest.raises(ConfigError, match=r"has the parameter 'gold', and prompt .*d.jsonl:\d+ has no such column"):
        task(path, reward=lambda prompt, completion, gold: 1.0)


@pytest.mark.parametrize("usable", [(1, 1, 1, 1, 1, 0), (1, 0, 1, 1, 1, 1)], ids=["2, 2, 1", "1, 2, 2"])
@pytest.mark.parametrize("surplus", ["drop", "carry"])
def test_a_batch_is_refilled_across_the_end_of_an_epoch(
    tmp_path: Path, usable: tuple[int, ...], surplus: Literal["drop", "carry"]
) -> None:
    """Report B20: 6 prompts, 2 groups a step; epoch 1 has 5 usable groups, so that a step stands open at its end."""
    # https://github.com/NovaSky-AI/SkyRL/pull/2228
    held_out = write(tmp_path / "h.jsonl", [{"prompt": "held out"}])
    mine = task(write(tmp_path / "d.jsonl", ROWS[:6]), held_out=held_out)

    def draw(draws: range) -> Iterator[Group]:
        for place in draws:
            scores = (1.0, 0.0) if usable[place % 6] else (0.0, 0.0)
            rollouts = tuple(Rollout(Completion((5,), (-1.0,), "", "stop", 0), score) for score in scores)
            yield Group(place, mine.prompt(place), (1,), rollouts)

    refill = Refill(prompts=2, max_draws=12, surplus=surplus, max_staleness=9)
    ledgers: list[dict[str, int]] = []
    seen: list[str] = []
    in_epoch_1, cursor, carried = 0, 0, ()
    while cursor < 12:
        step = collect(draw, cursor=cursor, version=0, refill=refill, rule=Filter(), carried=carried)
        cursor, carried = step.cursor, step.carried
        ledgers.append(step.ledger)
        seen.extend(group.prompt.id for group in step.generated)
        in_epoch_1 += all(group.draw < 6 for group in step.trained)
    assert in_epoch_1 == 2
    assert all(balanced(row) and row["trained"] == 2 for row in ledgers)
    total = {name: sum(row[name] for row in ledgers) for name in ("generated", "trained", "all_wrong", "dropped")}
    assert total["generated"] == total["trained"] + total["all_wrong"] + total["dropped"] + len(carried)
    assert sorted(seen[:6]) == sorted(seen[6:12]) == sorted(prompt.id for prompt in mine.rows)
