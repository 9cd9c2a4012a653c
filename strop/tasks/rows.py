"""One row of data, whatever file it came from: JSON's own values by column, and the place where it stands.

A null inside a mapping is taken as an absent key, keys inside mappings stand in the order of the alphabet, and a whole
number has one spelling in an id: so a row is the same row whether JSON Lines, CSV, Parquet or Arrow held it.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import hashlib
import json
import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 2**24
"""Most bytes of a row of text. A longer one is a file without line breaks, or no prompt."""

DEEPEST = 64
"""Most lists and mappings inside one another."""


@dataclass(frozen=True, slots=True)
class Row:
    """`where` is the file and the line, or the number of the row: "train.jsonl:12", "train.parquet row 12"."""

    where: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row cannot be used, and in which column, if one is to blame."""

    where: str
    reason: str
    column: str = ""

    def __str__(self) -> str:
        named = f"column {short(self.column)}: " if self.column else ""
        return f"{self.where}: {named}{self.reason}"


class Twice(dict[str, Any]):
    """A JSON object that gives `key` more than once."""

    key = ""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, a Twice if a key comes again: an `object_pairs_hook` of json."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice, seen = Twice(found), set[str]()
    twice.key = next(key for key, _ in pairs if key in seen or seen.add(key))
    return twice


def row_of(where: str, values: Mapping[str, Any]) -> Row | Fault:
    """The row with its values made plain, or why they cannot be."""
    if isinstance(values, Twice):
        return Fault(where, "is given twice", values.key)
    found: dict[str, Any] = {}
    for name, value in values.items():
        if not name.isascii() and not is_text(name):
            return Fault(where, "its name holds half a character (a lone surrogate)", name)
        try:
            found[name] = plain(value)
        except ValueError as error:
            return Fault(where, str(error), name)
    return Row(where, found)


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON holds it. NumPy's become Python's, dates ISO text, decimals text, bytes base64 text.

    Raises:
        ValueError: nan, half a character, a key given twice, too deep, or a type that JSON has nothing for.
    """
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _whole_text(value)
    if kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return _finite(value)
    if depth >= DEEPEST:
        raise ValueError(f"is nested more than {DEEPEST} deep")
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return _other(value, depth)


def _whole_text(value: str) -> str:
    if not is_text(value):
        raise ValueError("holds half a character (a lone surrogate, such as \\ud800)")
    return value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"holds {value}, which is no JSON value; write null, or leave the key out")
    return value


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    if isinstance(value, Twice):
        raise ValueError(f"its key {short(value.key)} is given twice")
    if not all(isinstance(key, str) for key in value):
        raise ValueError("has a mapping whose keys are no texts")
    return {
        key if key.isascii() else _whole_text(key): plain(item, depth + 1)
        for key, item in sorted(value.items())
        if item is not None
    }


PLAIN: tuple[tuple[tuple[type, ...], Callable[[Any], Any]], ...] = (
    ((datetime.date, datetime.time), lambda value: value.isoformat()),
    ((datetime.timedelta,), lambda value: value.total_seconds()),
    ((decimal.Decimal,), lambda value: format(value, "f") if value.is_finite() else float(value)),
    ((bytes, bytearray, memoryview), lambda value: base64.b64encode(value).decode("ascii")),
    ((uuid.UUID,), str),
    ((str,), str.__str__),
    ((int,), int),
    ((float,), float),
)
"""What becomes of other types. The last three are of classes derived from JSON's own, such as an enum's."""


def _other(value: Any, depth: int) -> Any:
    if hasattr(value, "tolist"):  # an array or a scalar of NumPy
        return plain(value.tolist(), depth + 1)
    for types, made in PLAIN:
        if isinstance(value, types):
            return plain(made(value), depth)
    raise ValueError(f"is a {type(value).__name__}, which JSON has nothing for")


def is_text(value: str) -> bool:
    """Whether UTF-8 can spell it: it holds no lone half of a surrogate pair."""
    if value.isascii():
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def identity(values: Mapping[str, Any]) -> str:
    """16 hex digits that equal rows share and no others: a hash of all columns, those that are null left out."""
    held = {name: value for name, value in values.items() if value is not None}
    text = SORTED.encode(held)
    if WHOLE.search(text):
        text = SORTED.encode(_numbered(held))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


SORTED = json.JSONEncoder(sort_keys=True)

WHOLE = re.compile(r"\.0[,\]}]|\de\+\d")
"""How json writes a float that is a whole number; texts may look so too."""


def _numbered(value: Any) -> Any:
    """The value with 2.0 as 2: Arrow writes the whole numbers of a column as floats where one of them is not whole."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_numbered(item) for item in value]
    if isinstance(value, dict):
        return {key: _numbered(item) for key, item in value.items()}
    return value


def type_of(value: Any) -> str:
    """The type of a plain value in words; numbers with and without a point are one."""
    if isinstance(value, bool):
        return "true or false"
    names = {int: "a number", float: "a number", str: "a text", list: "a list", dict: "a mapping", type(None): "null"}
    return names[type(value)]


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names side by side, cut where they are long or many; "nothing" if there is none."""
    found = list(names)
    shown = [name if len(name) <= 60 else f"{name[:60]}..." for name in found[:most]]
    more = [f"... ({len(found) - most} more)"] if len(found) > most else []
    return ", ".join([*shown, *more]) or "nothing"


def short(name: str, most: int = 60) -> str:
    """A name in quotes, cut where it is long."""
    return repr(name if len(name) <= most else f"{name[:most]}...")
