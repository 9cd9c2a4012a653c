"""What must hold for a row to be a prompt with an answer: each check gives the row back, or what is wrong with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from strop.names import did_you_mean, nearest
from strop.tasks.columns import PROMPT
from strop.tasks.rows import Fault, Row, listed, type_of

Checked = list[Row | Fault]

ANSWERS = ("answer", "solution", "ground_truth", "reward_model.ground_truth", "label")
"""Where the right answer may stand; the first that a table has anything in is the one."""

OTHER_NAMES = ("question", "problem", "input", "query", "instruction", "messages", "text")
"""What others call a prompt."""

SPELLED = re.compile(r"\s*\[\s*\{\s*['\"](role|content)['\"]\s*:")
"""A list of messages that was written as text."""


def each_once(check: Callable[[Row], Row | Fault], rows: Checked) -> Checked:
    """What a check makes of every row that is right so far. Rows that share their values are checked once."""
    made: dict[int, Row | Fault] = {}
    return [row if isinstance(row, Fault) else _remembered(check, row, made) for row in rows]


def _remembered(check: Callable[[Row], Row | Fault], row: Row, made: dict[int, Row | Fault]) -> Row | Fault:
    key = id(row.values)
    if key not in made:
        made[key] = check(row)
    found = made[key]
    return row if isinstance(found, Row) and found.values is row.values else replace(found, where=row.where)


def with_prompt(row: Row, label: str) -> Row | Fault:
    """The row if its prompt is a text or a list of messages that says something. `label` is the file's name of it."""
    value = row.values.get(PROMPT)
    if value is None:
        return Fault(row.where, _missing(row, label), label)
    if isinstance(value, str):
        reason = _bad_text(value)
    elif isinstance(value, list):
        reason = _bad_messages(value)
    else:
        reason = f"is {type_of(value)}; a prompt is a text or a list of messages with 'role' and 'content'"
    return Fault(row.where, reason, label) if reason else row


def _missing(row: Row, label: str) -> str:
    if PROMPT in row.values:
        return "is null"
    near = nearest(label, row.values) or [name for name in OTHER_NAMES if name in row.values][:1]
    hint = f"; name it with task.data.columns {{prompt: {near[0]}}}" if near else "; name it with task.data.columns"
    return f"is missing: the row has {listed(row.values)}{did_you_mean(near)}{hint}"


def _bad_text(text: str) -> str:
    if not text.strip():
        return "is empty"
    if SPELLED.match(text):
        return "is a text that spells a list of messages: write the list itself, in JSON Lines or Parquet"
    return ""


def _bad_messages(messages: Sequence[Any]) -> str:
    if not messages:
        return "is an empty list of messages"
    for place, message in enumerate(messages):
        if reason := _bad_message(message):
            return f"message {place} {reason}"
    if messages[-1]["role"] == "assistant":
        return "ends with an assistant's message, so the answer would stand in the prompt; leave that message out"
    return "" if any(message["content"].strip() for message in messages) else "is empty: no message has any content"


def _bad_message(message: Any) -> str:
    if not isinstance(message, dict):
        return f"is {type_of(message)}; a message is a mapping with 'role' and 'content'"
    for key in ("role", "content"):
        if key not in message:
            return f"has no {key!r}; it has {listed(message)}"
    for key, value in message.items():
        if not isinstance(value, str):
            return f"has a {key!r} that is {type_of(value)}: strop reads messages of text"
    return "" if message["role"].strip() else "has an empty 'role'"


GROUND_TRUTH = "reward_model.ground_truth"


def value_at(row: Row, column: str) -> Any:
    """What a row has in a column; GROUND_TRUTH is the answer inside verl's `reward_model`."""
    if column != GROUND_TRUTH:
        return row.values.get(column)
    inner = row.values.get("reward_model")
    return inner.get("ground_truth") if isinstance(inner, Mapping) else None


def of_one_type(rows: Checked, labels: Mapping[str, str]) -> Checked:
    """The rows, those with a value of another type than the usual one of its column marked."""
    good = [row for row in rows if isinstance(row, Row)]
    mixed: dict[str, Mapping[str, tuple[int, str]]] = {}
    for column in {name: None for row in good for name in row.values} | {GROUND_TRUTH: None}:
        found = types_of(good, column)
        if len(found) > 1:
            mixed[column] = found
    return each_once(partial(_typed, mixed=mixed, labels=labels), rows) if mixed else rows


def types_of(rows: Sequence[Row], column: str) -> dict[str, tuple[int, str]]:
    """Type in words -> how many rows have it in a column, and where the first stands; nulls are of no type."""
    counts: Counter[type] = Counter(map(type, [value_at(row, column) for row in rows]))
    counts.pop(type(None), None)
    if len(counts) < 2:
        return {}
    found: dict[str, tuple[int, str]] = {}
    for row in rows:
        value = value_at(row, column)
        if value is not None:
            count, first = found.get(type_of(value), (0, row.where))
            found[type_of(value)] = (count + 1, first)
    return found


def _typed(row: Row, mixed: Mapping[str, Mapping[str, tuple[int, str]]], labels: Mapping[str, str]) -> Row | Fault:
    for column, found in mixed.items():
        value = value_at(row, column)
        usual = max(found, key=lambda kind: found[kind][0])
        if value is not None and type_of(value) != usual:
            count, first = found[usual]
            others = "most rows" if 2 * count > sum(each for each, _ in found.values()) else "other rows"
            text = f"is {type_of(value)} here, and {usual} in {others}, such as {first}"
            return Fault(row.where, f"{text}: a column holds one type", labels.get(column, column))
    return row


def with_answer(rows: Checked, labels: Mapping[str, str], read: Collection[str]) -> Checked:
    """The rows, those without an answer marked, if the table has a column of answers that a reward reads."""
    good = [row for row in rows if isinstance(row, Row)]
    names = [name for name in ANSWERS if name.partition(".")[0] in read]
    column = next((name for name in names if any(value_at(row, name) is not None for row in good)), "")
    return each_once(partial(_answered, column=column, labels=labels), rows) if column else rows


def _answered(row: Row, column: str, labels: Mapping[str, str]) -> Row | Fault:
    value = value_at(row, column)
    said = value.strip() if isinstance(value, str) else value
    if said not in (None, "", [], {}):
        return row
    reason = "is missing" if value is None else "is empty"
    return Fault(row.where, f"{reason}: the right answer stands there in other rows", labels.get(column, column))
