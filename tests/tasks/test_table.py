"""A source to prompts: whatever is wrong with whichever rows, the others are kept and every fault names its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from strop.errors import ConfigError, DataError
from strop.tasks import table as module
from strop.tasks.read_dataset import _quiet
from strop.tasks.reading import Source, kind_of
from strop.tasks.rows import Fault
from strop.tasks.table import Table, read_table, strict
from strop.types import Prompt
from tests.tasks.fakes import write_csv, write_jsonl, write_parquet


def read(path: Path, columns: dict[str, str] | None = None) -> Table:
    return read_table(Source(str(path), kind_of(str(path))), columns or {})


def rows(count: int) -> list[dict[str, Any]]:
    return [{"prompt": f"{i}+1=", "answer": str(i + 1), "level": i % 3, "meta": {"index": i}} for i in range(count)]


def line_of(row: dict[str, Any], **changes: Any) -> bytes:
    return json.dumps({key: value for key, value in (row | changes).items() if value is not ...}).encode()


BREAK: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "cut off": lambda row: line_of(row)[:-5],
    "two objects": lambda row: line_of(row) * 2,
    "no JSON": lambda row: b"prompt: a",
    "an array": lambda row: b"[" + line_of(row) + b"]",
    "bad UTF-8": lambda row: line_of(row).replace(b"+", b"\xff"),
    "a byte order mark": lambda row: b"\xef\xbb\xbf" + line_of(row),
    "a key twice": lambda row: line_of(row)[:-1] + b', "level": 1}',
    "no prompt": lambda row: line_of(row, prompt=...),
    "null prompt": lambda row: line_of(row, prompt=None),
    "empty prompt": lambda row: line_of(row, prompt=" "),
    "a number for a prompt": lambda row: line_of(row, prompt=3),
    "messages among texts": lambda row: line_of(row, prompt=[{"role": "user", "content": "a"}]),
    "no answer": lambda row: line_of(row, answer=...),
    "empty answer": lambda row: line_of(row, answer=""),
    "a number among texts": lambda row: line_of(row, answer=7),
    "a text among numbers": lambda row: line_of(row, level="hard"),
    "not a number": lambda row: line_of(row, level=float("nan")),
    "half a character": lambda row: line_of(row).replace(b"+", b"\\ud83d"),
    "nested too deep": lambda row: line_of(row)[:-1] + b', "deep": ' + b"[" * 70 + b"]" * 70 + b"}",
}
"""What can be wrong with one line; everything but the first line's mark, which is allowed there."""


@given(
    count=st.integers(7, 20),
    broken=st.dictionaries(st.integers(1, 6), st.sampled_from(sorted(BREAK)), max_size=3),
    blank=st.sets(st.integers(0, 6)),
)
@example(count=7, broken={1: "cut off", 3: "bad UTF-8", 6: "a key twice"}, blank={0, 1, 6})
def test_kept_and_malformed_rows_are_all_there_are_and_each_fault_names_its_line(
    tmp_path_factory: pytest.TempPathFactory, count: int, broken: dict[int, str], blank: set[int]
) -> None:
    path = tmp_path_factory.mktemp("table") / "d.jsonl"
    data, lines = [], {}
    for place, row in enumerate(rows(count)):
        data += [b"  "] * (place in blank)
        lines[place] = len(data) + 1
        data.append(BREAK[broken[place]](row) if place in broken else line_of(row))
    path.write_bytes(b"\n".join(data) + b"\n")
    table = read(path)
    clean = read(write_jsonl(path.with_name("clean.jsonl"), rows(count)))
    assert table.total == count == len(table.prompts) + len(broken)
    assert [fault.where for fault in table.faults] == [f"{path}:{lines[place]}" for place in sorted(broken)]
    expected = [prompt for place, prompt in enumerate(clean.prompts) if place not in broken]
    assert [(p.id, p.content, p.columns) for p in table.prompts] == [(p.id, p.content, p.columns) for p in expected]
    for most in range(len(broken)):
        with pytest.raises(DataError, match=rf":{lines[min(broken)]}: .*\({len(broken)} of {count} rows "):
            strict([table], most)
    assert bool(strict([table], len(broken))) == bool(broken)


def test_every_way_to_break_a_line_is_seen_alone(tmp_path: Path) -> None:
    seen = {}
    for name, broken in BREAK.items():
        lines = [broken(row) if place == 4 else line_of(row) for place, row in enumerate(rows(9))]
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"\n".join(lines))
        [fault] = read(path).faults
        assert fault.where == f"{path}:5", name
        seen[name] = fault.reason
    assert len(set(seen.values())) >= 15


@given(
    broken=st.dictionaries(
        st.integers(0, 8), st.sampled_from(["prompt", "answer", "nan", "bytes"]), min_size=1, max_size=3
    )
)
def test_in_parquet_too_every_fault_costs_its_own_row(
    tmp_path_factory: pytest.TempPathFactory, broken: dict[int, str]
) -> None:
    path = tmp_path_factory.mktemp("table") / "d.parquet"
    bad = {
        "prompt": {"prompt": b""},
        "answer": {"answer": None},
        "nan": {"level": float("nan")},
        "bytes": {"answer": b"\xff"},
    }
    made = [{"prompt": b"%d+1=" % i, "answer": b"%d" % i, "level": 0.5} for i in range(9)]
    made = [row | bad[broken[place]] if place in broken else row for place, row in enumerate(made)]
    columns = {
        name: pa.array([row[name] for row in made], pa.binary()).view(pa.string()) for name in ("prompt", "answer")
    }
    pq.write_table(pa.table(columns | {"level": [row["level"] for row in made]}), path)
    table = read(path)
    assert [fault.where for fault in table.faults] == [f"{path} row {place + 1}" for place in sorted(broken)]
    assert [prompt.where for prompt in table.prompts] == [f"{path} row {i + 1}" for i in range(9) if i not in broken]


def shown(table: Table) -> list[str]:
    return [json.dumps([p.id, p.content, dict(p.columns)]) for p in table.prompts]


def test_a_row_has_the_same_id_prompt_and_columns_in_every_file(tmp_path: Path) -> None:
    ragged = [
        {"prompt": [{"role": "user", "content": "a"}], "answer": "1", "score": 1, "extra": {"index": 1, "tags": ["x"]}},
        {
            "prompt": [{"role": "user", "content": "b"}],
            "answer": "2",
            "score": 0.5,
            "extra": {"index": 2, "split": "é"},
        },
        {"prompt": [{"role": "user", "content": "c"}], "answer": "3", "hint": "h", "extra": {"index": 3}},
    ]
    tables = [
        read(write(tmp_path / f"d.{kind}", ragged))
        for kind, write in (("jsonl", write_jsonl), ("parquet", write_parquet))
    ]
    assert shown(tables[0]) == shown(tables[1])
    assert tables[0].prompts[0].columns == {"answer": "1", "score": 1.0, "extra": ragged[0]["extra"], "hint": None}
    texts = [{"prompt": 'a, "b"\nc', "answer": "1"}, {"prompt": "d\r\n", "answer": "é"}]
    kinds = (("jsonl", write_jsonl), ("parquet", write_parquet), ("csv", write_csv))
    assert len({tuple(shown(read(write(tmp_path / f"t.{kind}", texts)))) for kind, write in kinds}) == 1


WORD = st.text(st.sampled_from('aé\n"☃'), min_size=1, max_size=3)
NUMBER = st.integers(-9, 9) | st.sampled_from([0.5, 1e-9, 1e22])
CELL: dict[str, st.SearchStrategy[Any]] = {
    "text": WORD,
    "number": NUMBER,
    "yes": st.booleans(),
    "list": st.lists(NUMBER, max_size=2),
    "inner": st.fixed_dictionaries(
        {"x": NUMBER}, optional={"y": WORD, "z": st.lists(st.fixed_dictionaries({"n": NUMBER}))}
    ),
}
ROW = st.fixed_dictionaries({"prompt": WORD.map("?".__add__)}, optional=CELL)


@settings(max_examples=50)
@given(made=st.lists(ROW, min_size=1, max_size=6))
def test_any_table_has_the_same_bytes_of_ids_prompts_and_columns_in_every_file(
    tmp_path_factory: pytest.TempPathFactory, made: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("table")
    lines = shown(read(write_jsonl(folder / "d.jsonl", made)))
    assert lines == shown(read(write_parquet(folder / "d.parquet", made)))
    names = {name: None for row in made for name in row}
    with _quiet():
        table = datasets.Dataset.from_dict({name: [row.get(name) for row in made] for name in names})
        table.save_to_disk(str(folder / "saved"))
    assert lines == shown(read(folder / "saved"))


def test_whole_numbers_stay_whole_where_all_of_a_column_are(tmp_path: Path) -> None:
    made = [{"prompt": "a", "n": 1, "x": 1, "y": True}, {"prompt": "b", "n": 2, "x": 2.5, "y": False}]
    first = read(write_jsonl(tmp_path / "d.jsonl", made)).prompts[0].columns
    assert [json.dumps(first[name]) for name in ("n", "x", "y")] == ["1", "1.0", "true"]


def test_other_names_of_columns_change_no_prompt(tmp_path: Path) -> None:
    ours = read(write_jsonl(tmp_path / "ours.jsonl", [{"prompt": "a", "answer": "b", "n": 1}]))
    theirs = write_jsonl(tmp_path / "theirs.jsonl", [{"input": "a", "label": "b", "n": 1}])
    found = read(theirs, {"prompt": "input", "answer": "label"})
    assert [(p.id, p.columns) for p in found.prompts] == [(p.id, p.columns) for p in ours.prompts]
    with pytest.raises(ConfigError, match="no row of theirs.jsonl has the column 'lable'"):
        read(theirs, {"prompt": "input", "answer": "lable"})
    [fault] = read(theirs, {"prompt": "inptu"}).faults
    assert str(fault).startswith(f"{theirs}:1: column 'inptu': is missing: the row has input, label, n; did you mean")


def test_a_file_without_rows_and_one_whose_names_are_data_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="d.jsonl: it holds no rows"):
        read(write_jsonl(tmp_path / "d.jsonl", []))
    wide = [{"prompt": "a", **{f"c{place}{i}": 1 for i in range(3)}} for place in range(module.MOST_COLUMNS // 3 + 1)]
    with pytest.raises(DataError, match=r"its rows have 1003 columns; a column's name is no place for data"):
        read(write_jsonl(tmp_path / "wide.jsonl", wide))


def a_table(faults: int, prompts: int = 2) -> Table:
    found = tuple(Fault(f"d.jsonl:{line}", "is empty", "prompt") for line in range(1, faults + 1))
    return Table("d.jsonl", tuple(Prompt(f"p{i}", "a") for i in range(prompts)), found)


def test_malformed_rows_are_an_error_that_says_how_many_there_are_and_what_would_leave_them_out() -> None:
    with pytest.raises(DataError) as one:
        strict([a_table(1)], 0)
    assert str(one.value) == (
        "d.jsonl:1: column 'prompt': is empty (1 of 3 rows is malformed; task.max_bad 1 would leave it out)"
    )
    with pytest.raises(DataError) as more:
        strict([a_table(2), a_table(3)], 4)
    assert str(more.value).endswith("(5 of 9 rows are malformed; task.max_bad 5 would leave them out)")


def test_a_table_of_nothing_but_malformed_rows_is_an_error_that_advises_no_limit() -> None:
    for most in (0, 9):
        with pytest.raises(DataError) as all_of_them:
            strict([a_table(1), a_table(3, prompts=0)], most)
        assert str(all_of_them.value) == "d.jsonl:1: column 'prompt': is empty (all 3 rows are malformed)"
        with pytest.raises(DataError, match=r"is empty \(the only row is malformed\)$"):
            strict([a_table(1, prompts=0)], most)


def test_rows_that_are_left_out_are_told_with_the_first_of_them() -> None:
    assert strict([a_table(0)], 0) == strict([], 0) == ()
    assert strict([a_table(1)], 1) == ("1 of 3 rows is malformed and left out: d.jsonl:1: column 'prompt': is empty",)
    [told] = strict([a_table(5)], 9)
    assert told.startswith("5 of 7 rows are malformed and left out: d.jsonl:1: ")
    assert told.count("is empty") == 3 and told.endswith("; ...")
