"""Rows of a Hugging Face dataset: a folder that save_to_disk wrote, a folder of files, or a hub id (extra `data`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from strop.errors import ConfigError, DataError
from strop.names import did_you_mean, nearest
from strop.tasks.read_csv import read_csv
from strop.tasks.read_jsonl import read_jsonl
from strop.tasks.read_parquet import ROWS, arrow_rows, once_each
from strop.tasks.rows import Fault, Row

HUB_ID = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(@[\w./-]+)?$")
"""ORG/NAME, or ORG/NAME@REVISION."""


def read_dataset(file: str, subset: str, split: str, split_key: str) -> Iterator[Row | Fault]:
    """The rows of a split, numbered from 1; nothing is decoded but texts, numbers, lists and mappings.

    Raises:
        DataError: the folder holds no dataset, or the hub cannot be reached or has none of this name.
        ConfigError: `datasets` is not installed, or the dataset has no such split (`split_key` names the setting).
    """
    table = _split(_loaded(file, subset), file, split, split_key).with_format("arrow")
    once_each(table.column_names, file)
    for before in range(0, len(table), ROWS):
        batch = _read(file, partial(table.__getitem__, slice(before, before + ROWS)))
        yield from arrow_rows(batch, f"{file} ({split})", before)


def _loaded(file: str, subset: str) -> Any:
    """The dataset, or its splits by name."""
    library = _library()
    path = Path(file).expanduser()
    if path.is_dir() and _was_saved(path):
        if subset:
            raise ConfigError(f"task.data.subset: {file} was written by save_to_disk and has no subset {subset!r}")
        return _read(file, partial(library.load_from_disk, str(path)))
    name, _, revision = (str(path), "", "") if path.is_dir() else file.partition("@")
    return _read(file, partial(library.load_dataset, name, subset or None, revision=revision or None))


def _was_saved(path: Path) -> bool:
    return any((path / name).is_file() for name in ("dataset_dict.json", "state.json"))


def _library() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ConfigError("task.kind: dataset needs the library datasets: pip install 'strop[data]'") from error
    return datasets


def _read(file: str, load: Callable[[], Any]) -> Any:
    try:
        with _quiet():
            return load()
    except ConnectionError as error:
        hint = "check the name and the network; a folder that save_to_disk wrote needs none"
        raise DataError(f"task.file: {file} is no folder, and the hub cannot be asked for it; {hint}") from error
    except Exception as error:  # the library raises any of a dozen types, its own and Arrow's
        reason = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
        text = _fault(Path(file).expanduser()) or f"task.file: {file} cannot be read as a dataset: {reason[0]}"
        raise DataError(text) from error


def _fault(folder: Path) -> str:
    """The first fault in the text files of a folder, with its line, which Arrow does not tell; "" if there is none."""
    readers = {".jsonl": read_jsonl, ".json": read_jsonl, ".csv": read_csv}
    for path in sorted(folder.rglob("*")) if folder.is_dir() and not _was_saved(folder) else ():
        rows = readers[path.suffix](path) if path.suffix in readers else ()
        found = next((row for row in rows if isinstance(row, Fault)), None)
        if found:
            return str(found)
    return ""


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no log lines meanwhile: the screen is strop's."""
    import datasets

    shown, level = datasets.is_progress_bar_enabled(), datasets.logging.get_verbosity()
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    try:
        yield
    finally:
        datasets.logging.set_verbosity(level)
        if shown:
            datasets.enable_progress_bars()


def _split(found: Any, file: str, split: str, key: str) -> Any:
    if not isinstance(found, dict):
        name = str(found.split or "train")
        if split != name:
            raise ConfigError(f"{key}: {file} is one split, {name!r}, and has no {split!r}")
        return found
    if split not in found:
        near = did_you_mean(nearest(split, found))
        raise ConfigError(f"{key}: {file} has no split {split!r}; it has {', '.join(found)}{near}")
    return found[split]


def is_hub_id(file: str) -> bool:
    return bool(HUB_ID.match(file)) and not os.path.exists(file)
