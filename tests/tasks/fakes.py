"""A scorer of one function, and files of rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from strop.rewards.scorer import Scorer, Scoring, make_scorer
from strop.tasks.file_task import FileTask, read_rows
from strop.tasks.reading import Source, kind_of


def scorer(function: Callable[..., Any] = lambda prompt, completion: 1.0) -> Scorer:
    return make_scorer((), Scoring(), function=function)


def file_task(path: Path, held_out: Path | None = None, *, seed: int = 0, reward: Any = None, **how: Any) -> FileTask:
    sources = [Source(str(each), kind_of(str(each)) or "jsonl") for each in (path, held_out) if each]
    return read_rows(*sources, **how).task(scorer(reward) if reward else scorer(), seed)


def write_jsonl(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
