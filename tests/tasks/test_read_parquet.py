"""Parquet, row by row: plain values, and what is wrong with one cell costs one row."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from strop.errors import DataError
from strop.tasks import read_parquet as module
from strop.tasks.read_parquet import read_parquet
from strop.tasks.rows import Fault, Row
from tests.tasks.fakes import write_parquet


def texts(*values: bytes) -> pa.Array:
    """A column of texts made of these bytes, which Arrow does not look at."""
    return pa.array(list(values), pa.binary()).view(pa.string())


def read(path: Path, **columns: Any) -> list[Row | Fault]:
    pq.write_table(pa.table(columns), path)
    return list(read_parquet(path))


def said(rows: Sequence[Row | Fault]) -> list[str]:
    return [str(row) for row in rows if isinstance(row, Fault)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "d.parquet"


def test_rows_are_numbered_from_one_and_hold_plain_values(path: Path) -> None:
    rows = [
        {"prompt": [{"role": "user", "content": "a"}], "extra_info": {"index": 1, "split": None}, "level": None},
        {"prompt": [{"role": "user", "content": "b"}], "extra_info": {"index": 2, "split": "x"}, "level": 0.5},
    ]
    first, second = read_parquet(write_parquet(path, rows))
    assert first == Row(f"{path} row 1", {**rows[0], "extra_info": {"index": 1}})
    assert second == Row(f"{path} row 2", rows[1])


def test_types_that_json_has_not_become_what_it_has(path: Path) -> None:
    [row] = read(
        path,
        when=[datetime.datetime(2026, 1, 2)],
        cells=pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int64())),
        kind=pa.array(["x"]).dictionary_encode(),
        data=[b"\x00"],
    )
    assert isinstance(row, Row)
    assert row.values == {"when": "2026-01-02T00:00:00", "cells": {"a": 1}, "kind": "x", "data": "AA=="}


def test_bad_utf_8_which_arrow_lets_through_is_named_with_row_column_and_byte(path: Path) -> None:
    found = read(path, prompt=texts(b"a", b"b\xff", b"c"), answer=texts(b"1", b"2", b"\xc3"))
    assert said(found) == [
        f"{path} row 2: column 'prompt': not UTF-8 at byte 2 of the text",
        f"{path} row 3: column 'answer': not UTF-8 at byte 1 of the text",
    ]
    assert isinstance(found[0], Row)


def test_bad_utf_8_inside_a_list_or_a_mapping_is_found_too(path: Path) -> None:
    inner = pa.StructArray.from_arrays([texts(b"a", b"\xff")], ["content"])
    listed = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), inner)
    assert said(read(path, prompt=listed)) == [f"{path} row 2: column 'prompt': not UTF-8 at byte 1 of the text"]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array([1.0, float("nan")]), "holds nan, which is no JSON value; write null, or leave the key out"),
        (pa.array([[1.0], [float("inf")]]), "holds inf, which is no JSON value; write null, or leave the key out"),
        (pa.array([0, 2**60], pa.timestamp("ms")), "cannot be read: "),
    ],
)
def test_a_value_that_json_cannot_hold_is_named(path: Path, column: pa.Array, reason: str) -> None:
    [fault] = said(read(path, prompt=["a", "b"], odd=column))
    assert fault.startswith(f"{path} row 2: column 'odd': {reason}")


def test_rows_keep_their_numbers_over_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS", 3)
    found = read(path, prompt=texts(b"a", b"b", b"c", b"d", b"\xff", b"f", b"g"))
    assert said(found) == [f"{path} row 5: column 'prompt': not UTF-8 at byte 1 of the text"]
    assert [row.where for row in found] == [f"{path} row {number}" for number in range(1, 8)]


def test_a_text_that_is_too_long_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 10)
    assert said(read(path, prompt=["a" * 10, "a" * 11])) == [
        f"{path} row 2: column 'prompt': is longer than the 10 characters that a row may have"
    ]


@pytest.mark.parametrize("cut", [0, 3, 100, -1, -20])
def test_a_file_that_was_cut_off_is_said_to_be_so(path: Path, cut: int) -> None:
    data = write_parquet(path, [{"prompt": "a" * 200}]).read_bytes()
    path.write_bytes(data[:cut])
    with pytest.raises(DataError, match=r"d.parquet: no whole Parquet file: .*; it was cut off, or is something else"):
        list(read_parquet(path))


def test_a_page_that_was_damaged_is_an_error_with_the_row_it_was_met_at(path: Path) -> None:
    table = pa.table({"prompt": [f"question number {i}" for i in range(4000)]})
    pq.write_table(table, path, row_group_size=1000, use_dictionary=False, compression="NONE")
    data = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"d.parquet row 2001: no whole Parquet file: "):
        list(read_parquet(path))


def test_a_column_that_is_there_twice_is_an_error(path: Path) -> None:
    pq.write_table(pa.table([["a"], ["b"]], names=["prompt", "prompt"]), path)
    with pytest.raises(DataError, match="d.parquet: column 'prompt' is there twice"):
        list(read_parquet(path))
