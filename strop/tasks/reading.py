"""A file or dataset to rows, by the kind of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from strop.errors import DataError
from strop.tasks.read_csv import read_csv
from strop.tasks.read_dataset import read_dataset
from strop.tasks.read_jsonl import read_jsonl
from strop.tasks.read_parquet import read_parquet
from strop.tasks.rows import Fault, Row

READERS = {"jsonl": read_jsonl, "parquet": read_parquet, "csv": read_csv}
KINDS = (*READERS, "dataset")
"""Kinds of task that read their prompts."""

SUFFIXES = {".jsonl": "jsonl", ".json": "jsonl", ".parquet": "parquet", ".csv": "csv"}


def kind_of(file: str) -> str:
    """The kind that a file's ending says, `dataset` for a folder, "" if it says nothing."""
    path = Path(file).expanduser()
    return SUFFIXES.get(path.suffix.lower(), "") or ("dataset" if path.is_dir() else "")


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows are: `file` as it was given, the setting that names it, and what a dataset asks for beside it."""

    file: str
    kind: str
    key: str = "task.file"
    subset: str = ""
    split: str = "train"
    split_key: str = "task.data.split"

    @property
    def name(self) -> str:
        """How it is shown: the last part of the path, or the hub id."""
        return self.file if self.kind == "dataset" and not Path(self.file).expanduser().is_dir() else self.path.name

    @property
    def path(self) -> Path:
        return Path(self.file).expanduser()

    def rows(self) -> Iterator[Row | Fault]:
        """Every row, or what is wrong with it, in the order of the file.

        Raises:
            DataError: the file is missing or unreadable, or no rows can be told apart in it.
            ConfigError: a library that is missing, a split that is not there.
        """
        if self.kind == "dataset":
            yield from read_dataset(self.file, self.subset, self.split, self.split_key)
            return
        try:
            yield from READERS[self.kind](self.path)
        except FileNotFoundError as error:
            raise DataError(f"{self.key}: there is no file {self.path}") from error
        except OSError as error:
            raise DataError(f"{self.key}: cannot read {self.path}: {error.strerror or error}") from error
