"""What it costs to read and check rows, and that twice as many cost twice as much.

python -m benchmarks.data        prints a table and writes benchmarks/results/HARDWARE-data-DATE.json
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Result, compared
from strop.tasks.file_task import Rows, read_rows
from strop.tasks.reading import Source

ROWS = 50_000
COPIES = 100
LINEAR = 2.5
"""Twice the rows in at most this many times the time; n log n of sorting is in it."""

PARSING = 25.0
"""Reading with every check, over the time that json alone needs to parse the same lines."""


def rows(count: int) -> list[dict[str, Any]]:
    """Rows in verl's layout, each unlike the others."""
    return [
        {
            "data_source": "openai/gsm8k",
            "prompt": [{"role": "user", "content": f"{i}: how many are left of {i * 7} apples? " + "word " * 50}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(i)},
            "extra_info": {"split": "train", "index": i},
        }
        for i in range(count)
    ]


def write(folder: Path, count: int) -> tuple[Path, Path]:
    made = rows(count)
    lines, table = folder / f"{count}.jsonl", folder / f"{count}.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in made))
    pq.write_table(pa.Table.from_pylist(made), table)
    return lines, table


def read(path: Path) -> Rows:
    return read_rows(Source(str(path), path.suffix[1:]))


def results(folder: Path) -> list[Result]:
    (lines, table), (more_lines, more_table) = write(folder, ROWS), write(folder, 2 * ROWS)
    copies = folder / "copies.jsonl"
    copies.write_text("".join(json.dumps(row) + "\n" for row in rows(2 * ROWS // COPIES)) * COPIES)

    def parse() -> None:
        for line in lines.read_text().splitlines():
            json.loads(line)

    many, few = f"{2 * ROWS:,}", f"{ROWS:,}"
    return [
        compared(f"{few} lines read and checked / parsed by json", lambda: read(lines), parse, target=PARSING, n=5),
        compared(f"{many} / {few} lines", lambda: read(more_lines), lambda: read(lines), target=LINEAR, n=5),
        compared(f"{many} / {few} rows of Parquet", lambda: read(more_table), lambda: read(table), target=LINEAR, n=5),
        compared(
            f"{many} lines, {COPIES} copies each / all unlike",
            lambda: read(copies),
            lambda: read(more_lines),
            target=1.0,
            n=5,
        ),
    ]


def report(found: Sequence[Result]) -> None:
    """Print the table, write it, and leave with 0 only if every target is met."""
    for one in found:
        word = "met" if one.met else "MISSED"
        print(f"{one.ratio:10.3f} [{one.low:.3f}, {one.high:.3f}]  target {one.target:g}  {word:6}  {one.name}")
    machine = f"{platform.machine()}-{os.cpu_count()}-cores"
    file = Path(__file__).parent / "results" / f"{machine}-data-{time.strftime('%Y-%m-%d')}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps([one.record() for one in found], indent=2) + "\n")
    print(f"written to {file}")
    sys.exit(not all(one.met for one in found))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        report(results(Path(where)))
