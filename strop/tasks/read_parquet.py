"""Rows of a Parquet file, and of any Arrow batches: column by column, a bad cell costing one row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from strop.errors import DataError
from strop.tasks.rows import LONGEST, Fault, Row, row_of

ROWS = 1000
"""Rows that are made Python values at a time."""


def read_parquet(path: Path) -> Iterator[Row | Fault]:
    """The rows of a file, numbered from 1.

    Raises:
        DataError: it is no whole Parquet file, or has a column twice.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 0
    try:
        with path.open("rb") as data, pq.ParquetFile(data) as file:
            once_each(file.schema_arrow.names, str(path))
            for batch in file.iter_batches(ROWS, use_threads=False):
                yield from arrow_rows(batch, str(path), count)
                count += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        reason = str(error).splitlines()[0].strip().rstrip(".")
        where = f"{path} row {count + 1}" if count else str(path)
        raise DataError(f"{where}: no whole Parquet file: {reason}; it was cut off, or is something else") from error


def once_each(names: list[str], where: str) -> None:
    """DataError if a column is there twice."""
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise DataError(f"{where}: column {twice!r} is there twice")


def arrow_rows(batch: Any, name: str, before: int = 0) -> Iterator[Row | Fault]:
    """The rows of an Arrow batch or table; `before` stand before it."""
    columns = [_cells(column) for column in batch.columns]
    names = list(batch.schema.names)
    for place in range(batch.num_rows):
        where = f"{name} row {before + place + 1}"
        values = {label: cells[place] for label, cells in zip(names, columns, strict=True)}
        bad = next((label for label, value in values.items() if isinstance(value, Bad)), None)
        yield row_of(where, values) if bad is None else Fault(where, str(values[bad]), bad)


class Bad(ValueError):
    """What is wrong with a cell."""


def _cells(column: Any) -> list[Any]:
    """The values of a column. Arrow checks no text, so bad UTF-8 turns up only here: cell by cell, then."""
    try:
        return [_pairs(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        return [_cell(value) for value in column]


def _cell(value: Any) -> Any:
    try:
        return _pairs(value.as_py())
    except UnicodeDecodeError as error:
        return Bad(f"not UTF-8 at byte {error.start + 1} of the text")
    except (ValueError, OverflowError) as error:
        return Bad(f"cannot be read: {str(error).splitlines()[0]}")


def _pairs(value: Any) -> Any:
    """Arrow's map type gives a list of pairs; of text keys that is a mapping."""
    if isinstance(value, str) and len(value) > LONGEST:
        return Bad(f"is longer than the {LONGEST} characters that a row may have")
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return {key: _pairs(item) for key, item in value}
    return value
