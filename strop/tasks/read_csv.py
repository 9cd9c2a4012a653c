"""Rows of a CSV file as RFC 4180 writes it: a line of names, then commas, quotes doubled inside quotes. All values are
texts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from strop.errors import DataError
from strop.tasks.read_jsonl import UTF16
from strop.tasks.rows import LONGEST, Fault, Row, is_text, row_of

OTHER_MARKS = (";", "\t", "|")
"""What other programs write between fields."""

UNTERMINATED = "unexpected end of data"


def read_csv(path: Path) -> Iterator[Row | Fault]:
    """The rows of a file, each with the line it begins on; a byte order mark and blank lines are passed over.

    Raises:
        DataError: a quote that is never closed, or names that are empty or given twice.
    """
    data = path.read_bytes()
    if data[:2] in UTF16:
        raise DataError(f"{path}:1: it is UTF-16; save it as UTF-8")
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    lines = list(io.StringIO(text, newline=""))
    with _long_fields():
        reader = csv.reader(lines, strict=True)
        names: list[str] = []
        for first, fields in _records(reader, path, lines):
            where = f"{path}:{first}"
            if isinstance(fields, str):
                yield Fault(where, f"not CSV: {fields}")
            elif not names:
                names = _header(fields, where)
            elif fields and (len(fields) > 1 or fields[0].strip() or len(names) == 1):
                yield _row(names, fields, where, lines[first - 1 : reader.line_num])


@contextmanager
def _long_fields() -> Iterator[None]:
    """csv's own limit of 131,072 characters a field, which is one for the process, set to ours meanwhile."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _records(reader: Any, path: Path, lines: list[str]) -> Iterator[tuple[int, list[str] | str]]:
    """Every record with its first line, or what csv says of it."""
    while True:
        first = reader.line_num + 1
        try:
            yield first, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if str(error) == UNTERMINATED:
                line, column = _open_quote(lines, first)
                raise DataError(f"{path}:{line}: a quote that opens in field {column} is never closed") from error
            yield first, str(error)


def _open_quote(lines: list[str], first: int) -> tuple[int, int]:
    """Line and field of the quote that is still open at the end of the text, of a record that begins at `first`."""
    place, field, is_open = (first, 1), 1, False
    for number in range(first, len(lines) + 1):
        for character in lines[number - 1]:
            if character == '"':
                is_open = not is_open
                place = (number, field) if is_open else place
            field += character == "," and not is_open
    return place


def _header(names: list[str], where: str) -> list[str]:
    other = next((mark for mark in OTHER_MARKS if mark in names[0]), "")
    if len(names) == 1 and other:
        raise DataError(f"{where}: one column, {names[0]!r}: fields stand between commas here, not {other!r}")
    for place, name in enumerate(names, start=1):
        if not name.strip():
            hint = "give it one, or leave it out (pandas writes its index so: index=False)"
            raise DataError(f"{where}: column {place} has no name; {hint}")
        if name in names[: place - 1]:
            raise DataError(f"{where}: column {name!r} is there twice")
    return names


def _row(names: list[str], fields: list[str], where: str, lines: list[str]) -> Row | Fault:
    for name, field in zip(names, fields, strict=False):
        if not is_text(field):
            return Fault(where, _not_utf8(lines), name)
    if len(fields) > len(names):
        return Fault(where, f"has {len(fields)} fields, and the first line names {len(names)} columns")
    if len(fields) < len(names):
        return Fault(where, f"is missing: the row has {len(fields)} of {len(names)} fields", names[len(fields)])
    return row_of(where, dict(zip(names, fields, strict=True)))


def _not_utf8(lines: list[str]) -> str:
    number, line = next((number, line) for number, line in enumerate(lines) if not is_text(line))
    place = next(place for place, character in enumerate(line) if not is_text(character))
    byte = len(line[:place].encode("utf-8")) + 1
    return f"not UTF-8 at byte {byte} of line {number + 1} of the row" if number else f"not UTF-8 at byte {byte}"
