"""A scorer of one function that runs in this process, and files of rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from strop.rewards.find import as_reward
from strop.rewards.here import Here
from strop.rewards.scorer import Part, Scorer
from strop.tasks.file_task import FileTask, read_rows
from strop.tasks.reading import Source, kind_of


def scorer(function: Callable[..., Any] = lambda prompt, completion: 1.0) -> Scorer:
    reward = as_reward(function)
    return Scorer([Part(reward.name, name=reward.name)], 0, Here([reward]))


def file_task(path: Path, held_out: Path | None = None, *, seed: int = 0, reward: Any = None, **how: Any) -> FileTask:
    sources = [Source(str(each), kind_of(str(each)) or "jsonl") for each in (path, held_out) if each]
    return read_rows(*sources, **how).task(scorer(reward) if reward else scorer(), seed)


def write_jsonl(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    names = {name: None for row in rows for name in row}
    pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), path)
    return path


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
