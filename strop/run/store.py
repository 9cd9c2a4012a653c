"""A run is a folder: everything it knew or did, in plain files that need no strop to be read.

config.yaml provenance.json environment.json      what was asked for, where each value came from, on what
metrics.jsonl ledger.jsonl                        a row a step
rollouts/step-000012.parquet                      every completion of the step, trained or why not
checkpoints/step-000040/                          Hugging Face layout, optimizer, counters, MANIFEST.json
plots/*.png summary.json                          what came of it
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from strop.errors import ConfigError
from strop.types import Fate, Group

PACKAGES = ("strop", "torch", "transformers", "numpy", "safetensors", "pyarrow")
EXTRAS = ("peft", "datasets", "math-verify", "reasoning-gym", "verifiers")
"""Told where they are installed."""
ROLLOUT_SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("update", pa.int32()),
        ("draw", pa.int64()),
        ("prompt_id", pa.string()),
        ("completion", pa.int32()),
        ("text", pa.string()),
        ("ids", pa.list_(pa.int32())),
        ("sampler_logp", pa.list_(pa.float32())),
        ("score", pa.float64()),
        ("reward", pa.float64()),
        ("penalty", pa.float64()),
        ("parts", pa.map_(pa.string(), pa.float64())),
        ("answer", pa.string()),
        ("error", pa.string()),
        ("advantage", pa.float64()),
        ("finish", pa.string()),
        ("fate", pa.string()),
        ("version", pa.int32()),
    ]
)


@dataclass(frozen=True, slots=True)
class Credit:
    """What training gave a group: the update that trained it, counted over the run, and an advantage per completion."""

    update: int
    advantages: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Writes the files of one run. Rows are appended and flushed; a Parquet file appears whole or not at all."""

    path: Path
    silent: bool = False
    """Another process writes these files: here every write does nothing."""

    @classmethod
    def create(cls, parent: Path, name: str, *, algorithm: str) -> RunFolder:
        """A new run folder; without a name, a readable one is made. An existing folder is refused.

        Raises:
            ConfigError: a run of this name is there already.
        """
        path = parent / (name or f"{algorithm}-{time.strftime('%Y%m%d-%H%M%S')}")
        if not name and path.exists():
            path = next(p for k in range(2, 1000) if not (p := path.with_name(f"{path.name}-{k}")).exists())
        if path.exists():
            raise ConfigError(f"run: {path} is there already; choose another name with --run NAME")
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise ConfigError(f"runs: cannot make the folder {path}: {error.strerror}") from error
        for part in ("rollouts", "checkpoints", "plots"):
            (path / part).mkdir()
        return cls(path)

    def discard(self) -> None:
        """Take the folder away again."""
        if not self.silent:
            shutil.rmtree(self.path)

    def write_text(self, name: str, text: str) -> None:
        """Write a whole file, so that a reader sees the old or the new one and never half of it."""
        if self.silent:
            return
        target = self.path / name
        temporary = target.with_name(f".tmp-{target.name}")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, target)

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def append(self, name: str, row: Mapping[str, Any]) -> None:
        """One more whole line of a JSONL file."""
        if self.silent:
            return
        with (self.path / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, allow_nan=False, ensure_ascii=False) + "\n")

    def write_rollouts(self, step: int, fates: Sequence[tuple[Group, Fate]], credits: Mapping[int, Credit]) -> Path:
        """The step's Parquet file: a row for every completion that was met; `credits` is keyed by draw."""
        rows = [row for group, fate in fates for row in rollout_rows(step, group, fate, credits.get(group.draw))]
        rows.sort(key=lambda row: (row["draw"], row["completion"]))
        target = self.path / "rollouts" / f"step-{step:06d}.parquet"
        if self.silent:
            return target
        temporary = target.with_name(f".tmp-{target.name}")
        write_table(rows, temporary)
        os.replace(temporary, target)
        return target


def write_table(rows: list[dict[str, Any]], target: Path) -> None:
    """Rows of rollouts as one Parquet file."""
    pq.write_table(pa.Table.from_pylist(rows, schema=ROLLOUT_SCHEMA), target)


def rollout_rows(step: int, group: Group, fate: Fate, credit: Credit | None = None) -> list[dict[str, Any]]:
    """A row for each completion of a group."""
    trained = credit if fate == "trained" else None
    return [
        {
            "step": step,
            "update": trained.update if trained else None,
            "draw": group.draw,
            "prompt_id": group.prompt.id,
            "completion": i,
            "text": rollout.completion.text,
            "ids": list(rollout.completion.ids),
            "sampler_logp": list(rollout.completion.sampler_logp),
            "score": None if rollout.error else rollout.score,
            "reward": None if rollout.error else rollout.reward,
            "penalty": rollout.penalty,
            "parts": [*rollout.parts.items()],
            "answer": rollout.answer,
            "error": rollout.error,
            "advantage": trained.advantages[i] if trained else None,
            "finish": rollout.completion.finish,
            "fate": fate,
            "version": rollout.completion.version,
        }
        for i, rollout in enumerate(group.rollouts)
    ]


def environment() -> dict[str, Any]:
    """What the run ran on: versions and hardware, no host name, no user, no variables."""
    import torch

    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: version(name) for name in PACKAGES} | extras(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "devices": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        "program": Path(sys.argv[0]).name,
    }


def extras() -> dict[str, str]:
    """The versions of those of EXTRAS that are installed."""
    found: dict[str, str] = {}
    for name in EXTRAS:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file of a run folder."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
