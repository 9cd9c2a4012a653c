"""JSON Lines, line by line: what is wrong with one is named with its line, and costs no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.errors import DataError
from strop.tasks import read_jsonl as module
from strop.tasks.read_jsonl import read_jsonl
from strop.tasks.rows import Fault, Row

GOOD = b'{"prompt": "a", "answer": "b"}'


def read(path: Path, data: bytes) -> list[Row | Fault]:
    path.write_bytes(data)
    return list(read_jsonl(path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "d.jsonl"


BAD = {
    b'{"prompt": "a"': "not JSON at column 15: Expecting ',' delimiter",
    b'{"prompt": "a",}': "not JSON at column 16: ",
    b"{'prompt': 'a'}": "not JSON at column 2: Expecting property name enclosed in double quotes",
    b"prompt": "not JSON at column 1: Expecting value",
    b"{": "not JSON at column 2: Expecting property name enclosed in double quotes; write each object on one line",
    GOOD + GOOD: "not JSON at column 31: Extra data",
    b"[1]": "expected a JSON object, found a list; a file that is one array must end in .json",
    b'"a"': "expected a JSON object, found a text",
    b"null": "expected a JSON object, found null",
    b'{"prompt": "\xff"}': "not UTF-8 at byte 13",
    b'{"prompt": "\xc3"}': "not UTF-8 at byte 13",
    b"\xef\xbb\xbf" + GOOD: "not JSON at column 1: a byte order mark in the middle of the file",
    b'{"prompt": "a", "prompt": "b"}': "column 'prompt': is given twice",
    b'{"prompt": NaN}': "column 'prompt': holds nan, which is no JSON value",
    b'{"prompt": 1e999}': "column 'prompt': holds inf, which is no JSON value",
    b'{"prompt": "\\ud800"}': "column 'prompt': holds half a character",
    b"[" * 100_000: "nested too deep to be a row",
    b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}": "column 'a': is nested more than 64 deep",
    b'{"a": ' + b"9" * 5000 + b"}": "not JSON that can be read: Exceeds the limit",
    b'{"prompt": "a\nb"}'.replace(b"\n", b"\t"): "not JSON at column 14: Invalid control character at",
}


@pytest.mark.parametrize("line", BAD, ids=[text[:40] for text in BAD.values()])
def test_a_bad_line_is_named_and_costs_no_other(path: Path, line: bytes) -> None:
    first, bad, last = read(path, GOOD + b"\n" + line + b"\n" + GOOD + b"\n")
    assert isinstance(bad, Fault)
    assert str(bad).startswith(f"{path}:2: {BAD[line]}")
    assert [row.where for row in (first, last)] == [f"{path}:1", f"{path}:3"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_at_the_start_blank_lines_and_any_line_ends_are_passed_over(
    path: Path, start: bytes, end: bytes
) -> None:
    rows = read(path, start + end.join([b"", GOOD, b"  ", b"", GOOD, b"\t"]))
    assert rows == [Row(f"{path}:2", {"prompt": "a", "answer": "b"}), Row(f"{path}:5", rows[0].values)]  # type: ignore[union-attr]


def test_separators_of_other_alphabets_are_text_and_end_no_line(path: Path) -> None:
    text = "one\u2028two\u0085three\x0bfour"
    [row] = read(path, f'{{"prompt": "{text}"}}'.replace("\x0b", "\\u000b").encode())
    assert isinstance(row, Row)
    assert row.values == {"prompt": text}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_said_to_be_so(path: Path, encoding: str) -> None:
    with pytest.raises(DataError, match="d.jsonl:1: it is UTF-16; save it as UTF-8"):
        read(path, ("" if encoding == "utf-16" else "\ufeff").encode(encoding) + '{"prompt": "a"}'.encode(encoding))


def test_a_line_that_is_too_long_is_not_kept_and_the_next_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 100)
    long = b'{"prompt": "' + b"a" * 350 + b'"}'
    first, bad, last, end = read(path, b"\n".join([GOOD, long, GOOD, long]))
    assert [row.where for row in (first, bad, last, end)] == [f"{path}:{line}" for line in (1, 2, 3, 4)]
    assert str(bad) == f"{path}:2: the line is longer than the 100 bytes that a row may have"
    assert isinstance(last, Row) and isinstance(end, Fault)
    just = b'{"prompt": "' + b"a" * 85 + b'"}\n'
    assert [len(just), type(read(path, just)[0])] == [100, Row]


ARRAY = b'\n[{"prompt": "a"},\n\n {"prompt":\n  "b"}, 3\n]\n'


def test_a_json_file_may_be_one_array_or_lines(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    first, second, third = read(path, ARRAY)
    assert [first, second] == [Row(f"{path}:2", {"prompt": "a"}), Row(f"{path}:4", {"prompt": "b"})]
    assert str(third) == f"{path}:5: expected a JSON object, found a number"
    assert read(path, b"[]") == read(path, b"") == []
    assert read(path, GOOD + b"\n" + GOOD) == [Row(f"{path}:{i}", {"prompt": "a", "answer": "b"}) for i in (1, 2)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'[{"a": 1},\n{"a" 2}]', r"d.json:2: not JSON at column 6: Expecting ':' delimiter"),
        (b'[{"a": 1}\n{"a": 2}]', r"d.json:2: not JSON at column 1: Expecting ',' delimiter"),
        (b'[{"a": 1}', r"d.json:1: not JSON at column 10: Expecting ',' delimiter"),
        (b'[{"a": 1},', r"d.json:1: not JSON at column 11: Expecting value"),
        (b'[{"a": 1}]\n\n x', r"d.json:3: not JSON at column 2: text after the end of the array"),
        (b'[\n{"a": "\xff"}]', r"d.json:2: not UTF-8 at byte 8"),
        (b"[\n" + b"[" * 100_000, r"d.json:2: not JSON that can be read: maximum recursion depth"),
    ],
)
def test_a_slip_in_an_array_has_no_end_and_is_an_error_with_line_and_column(
    tmp_path: Path, data: bytes, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        read(tmp_path / "d.json", data)
