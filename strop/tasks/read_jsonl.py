"""Rows of a file of JSON: one object a line, or, in a file that ends in .json, one array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from strop.errors import DataError
from strop.tasks.rows import LONGEST, Fault, Row, once, row_of, type_of

BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
BLANK = re.compile(r"[ \t\r\n]*")


def read_jsonl(path: Path) -> Iterator[Row | Fault]:
    """The rows of a file, each with its line; a byte order mark at its start and blank lines are passed over.

    Raises:
        DataError: it is UTF-16, or an array (of a file that ends in .json) that is not JSON.
    """
    with path.open("rb") as file:
        start = file.read(3)
        file.seek(len(BOM) if start == BOM else 0)
        if start[:2] in UTF16:
            raise DataError(f"{path}:1: it is UTF-16; save it as UTF-8")
        if path.suffix.lower() == ".json" and _is_array(file):
            yield from _array(path, file.read())
            return
        for number, line in _lines(file):
            where = f"{path}:{number}"
            if line is None:
                yield Fault(where, f"the line is longer than the {LONGEST} bytes that a row may have")
            elif line.strip():
                yield _row(line, where)


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Every line with its number; None in place of one that is too long to be kept."""
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) <= LONGEST:
            yield number, line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST)
        yield number, None


def _row(line: bytes, where: str) -> Row | Fault:
    try:
        value = json.loads(line.decode("utf-8").rstrip("\r\n"), object_pairs_hook=once)
    except UnicodeDecodeError as error:
        return Fault(where, f"not UTF-8 at byte {error.start + 1}")
    except json.JSONDecodeError as error:
        return Fault(where, _syntax(error, line))
    except RecursionError:
        return Fault(where, "nested too deep to be a row")
    except ValueError as error:  # a number with thousands of digits
        return Fault(where, f"not JSON that can be read: {error}")
    return _checked(value, where)


def _checked(value: object, where: str) -> Row | Fault:
    if isinstance(value, dict):
        return row_of(where, value)
    hint = "; a file that is one array must end in .json" if isinstance(value, list) else ""
    return Fault(where, f"expected a JSON object, found {type_of(value)}{hint}")


def _syntax(error: json.JSONDecodeError, line: bytes) -> str:
    if line.startswith(BOM):
        return "not JSON at column 1: a byte order mark in the middle of the file"
    hint = "; write each object on one line" if line.strip() in (b"{", b"[", b"[{") else ""
    return f"not JSON at column {error.colno}: {error.msg}{hint}"


def _is_array(file: BinaryIO) -> bool:
    start = file.tell()
    while (byte := file.read(1)).isspace():
        continue
    file.seek(start)
    return byte == b"["


def _array(path: Path, data: bytes) -> Iterator[Row | Fault]:
    """The objects of an array, each with the line it begins on. A slip of the syntax has no end, so it is an error."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = error.start - data.rfind(b"\n", 0, error.start)
        raise DataError(f"{path}:{line}: not UTF-8 at byte {byte}") from error
    decoder = json.JSONDecoder(object_pairs_hook=once)
    line, last, place = 1, 0, _skipped(text, text.index("[") + 1)
    while not text.startswith("]", place):
        line, last = line + text.count("\n", last, place), place
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}:{error.lineno}: not JSON at column {error.colno}: {error.msg}") from error
        except (RecursionError, ValueError) as error:
            raise DataError(f"{path}:{line}: not JSON that can be read: {error}") from error
        yield _checked(value, f"{path}:{line}")
        place = _next(text, place, path)
    if text[place + 1 :].strip():
        raise _not_json(text, _skipped(text, place + 1), path, "text after the end of the array")


def _next(text: str, place: int, path: Path) -> int:
    """The place of the next object, or of the bracket that ends the array."""
    place = _skipped(text, place)
    if text.startswith("]", place):
        return place
    if not text.startswith(",", place):
        raise _not_json(text, place, path, "Expecting ',' delimiter")
    return _skipped(text, place + 1)


def _not_json(text: str, place: int, path: Path, reason: str) -> DataError:
    error = json.JSONDecodeError(reason, text, place)
    return DataError(f"{path}:{error.lineno}: not JSON at column {error.colno}: {reason}")


def _skipped(text: str, place: int) -> int:
    """The first place from here on that is no blank."""
    found = BLANK.match(text, place)
    return found.end() if found else place
