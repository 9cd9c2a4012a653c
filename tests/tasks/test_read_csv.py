"""CSV, record by record: what is wrong with one is named with its line, and costs no other."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import DataError
from strop.tasks import read_csv as module
from strop.tasks.read_csv import read_csv
from strop.tasks.rows import Fault, Row
from tests.tasks.fakes import write_csv

HEAD = b"prompt,answer\n"
GOOD = b"a,b\n"


def read(path: Path, data: bytes) -> list[Row | Fault]:
    path.write_bytes(data)
    return list(read_csv(path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "d.csv"


BAD = {
    b"a": "column 'answer': is missing: the row has 1 of 2 fields",
    b"a,b,c": "has 3 fields, and the first line names 2 columns",
    b"a,b,": "has 3 fields, and the first line names 2 columns",
    b"a,\xff": "column 'answer': not UTF-8 at byte 3",
    "é,".encode() + b"b\xc3": "column 'answer': not UTF-8 at byte 5",
    b'"a\nb\xff",c': "column 'prompt': not UTF-8 at byte 2 of line 2 of the row",
    b'"a"b,c': "not CSV: ',' expected after '\"'",
}


@pytest.mark.parametrize("record", BAD, ids=list(BAD.values()))
def test_a_bad_record_is_named_with_its_line_and_costs_no_other(path: Path, record: bytes) -> None:
    first, bad, last = read(path, HEAD + GOOD + record + b"\n" + GOOD)
    assert isinstance(bad, Fault)
    assert str(bad) == f"{path}:3: {BAD[record]}"
    assert [row.where for row in (first, last)] == [f"{path}:2", f"{path}:{4 + record.count(10)}"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_byte_order_mark_blank_lines_and_any_line_ends_are_passed_over(path: Path, start: str, end: str) -> None:
    data = end.join([f"{start}prompt,answer", "", 'a,"x, ""y"""', "   ", f'"one{end}two",b', ""])
    assert read(path, data.encode()) == [
        Row(f"{path}:3", {"prompt": "a", "answer": 'x, "y"'}),
        Row(f"{path}:5", {"prompt": f"one{end}two", "answer": "b"}),
    ]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'a,b\n"c,d\ne,f\n', r"d.csv:3: a quote that opens in field 1 is never closed"),
        (b'a,b\nc,"d ""e"" f\ng,h\n', r"d.csv:3: a quote that opens in field 2 is never closed"),
        (b'a,b\n"c\nd",e,"f\n', r"d.csv:4: a quote that opens in field 3 is never closed"),
        (b'a,b\nc,"', r"d.csv:3: a quote that opens in field 2 is never closed"),
    ],
)
def test_a_quote_that_is_never_closed_is_an_error_where_it_opens(path: Path, data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read(path, HEAD + data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b",prompt\n0,a\n", r"d.csv:1: column 1 has no name; .*pandas writes its index so"),
        (b"prompt,a,prompt\nx,y,z\n", r"d.csv:1: column 'prompt' is there twice"),
        (b"prompt;answer\nx;y\n", r"d.csv:1: one column, 'prompt;answer': fields stand between commas here, not ';'"),
        (b"prompt\tanswer\n", r"d.csv:1: one column, .*: fields stand between commas here, not '\\t'"),
        ("prompt\n1".encode("utf-16"), r"d.csv:1: it is UTF-16; save it as UTF-8"),
    ],
)
def test_names_that_cannot_be_are_an_error(path: Path, data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read(path, data)


def test_a_file_of_names_alone_has_no_rows(path: Path) -> None:
    assert read(path, HEAD) == read(path, b"") == []


def test_one_column_may_be_blank(path: Path) -> None:
    assert [row.values for row in read(path, b"prompt\n a \n  \n")] == [{"prompt": " a "}, {"prompt": "  "}]  # type: ignore[union-attr]


def test_a_field_may_be_longer_than_csv_lets_it_be_and_its_limit_is_put_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "x" * 200_000
    [row] = read(path, f"prompt\n{long}\n".encode())
    assert isinstance(row, Row) and row.values == {"prompt": long}
    assert csv.field_size_limit() == 131072
    monkeypatch.setattr(module, "LONGEST", 100)
    first, bad, last = read(path, f"prompt\na\n{long}\nb\n".encode())
    assert str(bad) == f"{path}:3: not CSV: field larger than field limit (100)"
    assert [row.where for row in (first, last)] == [f"{path}:2", f"{path}:4"]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)


@given(rows=st.lists(st.tuples(CELLS, CELLS.filter(bool)), min_size=1, max_size=5))
def test_what_a_csv_writer_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "d.csv"
    written = [{"prompt": prompt, "answer": answer} for prompt, answer in rows]
    assert [row.values for row in read_csv(write_csv(path, written)) if isinstance(row, Row)] == written
