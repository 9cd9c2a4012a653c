"""A source to prompts, every row of it checked: what is wrong is named with file, line, column and reason."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from strop.errors import DataError
from strop.tasks.checks import each_once, of_one_type, with_answer, with_prompt
from strop.tasks.columns import PROMPT, check_columns, renamed
from strop.tasks.numbers import Place, mixed_places, with_floats
from strop.tasks.reading import Source
from strop.tasks.rows import Fault, Row, identity
from strop.types import Prompt

EXAMPLES = 3
"""Malformed rows that a warning tells."""

MOST_COLUMNS = 1000

Reads = Callable[[Sequence[str]], Collection[str]]
"""The columns of a table -> those that rewards look at. `list` says all of them."""


@dataclass(frozen=True, slots=True)
class Table:
    """The prompts of a source in its order, what was wrong with its other rows, and what else there is to say."""

    name: str
    prompts: tuple[Prompt, ...]
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return len(self.prompts) + len(self.faults)


def read_table(source: Source, columns: Mapping[str, str], reads: Reads = list) -> Table:
    """The table of a source. `columns` maps our name of a column to the source's; of the columns that it is given,
    `reads` says which ones the rewards look at.

    Raises:
        DataError: the source cannot be read, or holds no rows.
        ConfigError: `columns` takes a column that no row has, a library is missing, or a split.
    """
    rows = list(shared(source.rows()))
    if not rows:
        raise DataError(f"{source.file}: it holds no rows")
    theirs = names_of(rows)
    if len(theirs) > MOST_COLUMNS:
        raise DataError(f"{source.file}: its rows have {len(theirs)} columns; a column's name is no place for data")
    warnings = check_columns(columns, theirs, source.name) if theirs else ()
    rows = each_once(partial(renamed, columns=columns), rows) if columns else rows
    rows = each_once(partial(with_prompt, label=columns.get(PROMPT, PROMPT)), rows)
    rows = with_answer(of_one_type(rows, columns), columns, reads(names_of(rows)))
    faults = tuple(row for row in rows if isinstance(row, Fault))
    return Table(source.name, as_prompts([row for row in rows if isinstance(row, Row)]), faults, warnings)


def shared(rows: Iterable[Row | Fault]) -> Iterator[Row | Fault]:
    """The rows, equal ones with one mapping between them: public files repeat each row a hundred times."""
    seen: dict[bytes, dict[str, Any]] = {}
    for row in rows:
        if isinstance(row, Fault):
            yield row
            continue
        key = hashlib.sha256(json.dumps(row.values).encode("ascii")).digest()
        yield Row(row.where, seen.setdefault(key, row.values))


def names_of(rows: Sequence[Row | Fault]) -> list[str]:
    """The names of all columns, in the order in which they turn up."""
    mappings = {id(row.values): row.values for row in rows if isinstance(row, Row)}
    return list({name: None for values in mappings.values() for name in values})


def as_prompts(rows: Sequence[Row]) -> tuple[Prompt, ...]:
    """The prompts of rows that are right. A column that some rows lack is null there, as it is in an Arrow table; where
    some of a column's numbers are whole and others not, all are floats, as they are there."""
    mappings = {id(row.values): row.values for row in rows}
    names = [name for name in names_of(rows) if name != PROMPT]
    mixed = mixed_places(mappings.values())
    made = {key: as_prompt(values, names, mixed) for key, values in mappings.items()}
    return tuple(replace(made[id(row.values)], where=row.where) for row in rows)


def as_prompt(values: Mapping[str, Any], names: Sequence[str], mixed: frozenset[Place]) -> Prompt:
    asked: Any = values[PROMPT]
    columns = {name: values.get(name) for name in names}
    for name in {str(place[0]) for place in mixed} - {PROMPT}:
        columns[name] = with_floats(columns[name], (name,), mixed)
    return Prompt(identity({PROMPT: asked, **columns}), asked if isinstance(asked, str) else tuple(asked), columns)


def strict(tables: Sequence[Table], most: int) -> tuple[str, ...]:
    """The warnings about malformed rows that are left out, at most `most` of them in all tables together.

    Raises:
        DataError: there are more, or a table has no other rows; the first is told.
    """
    for table in tables:
        if not table.prompts:
            raise DataError(f"{table.faults[0]} ({malformed(len(table.faults), table.total)})")
    faults = [fault for table in tables for fault in table.faults]
    count = malformed(len(faults), sum(table.total for table in tables))
    if len(faults) > most:
        hint = f"task.max_bad {len(faults)} would leave {'it' if len(faults) == 1 else 'them'} out"
        raise DataError(f"{faults[0]} ({count}; {hint})")
    if not faults:
        return ()
    return (f"{count} and left out: {'; '.join(map(str, faults[:EXAMPLES]))}{'; ...' * (len(faults) > EXAMPLES)}",)


def malformed(count: int, total: int) -> str:
    if count == total:
        return "the only row is malformed" if total == 1 else f"all {total} rows are malformed"
    return f"{count} of {total} rows {'is' if count == 1 else 'are'} malformed"
