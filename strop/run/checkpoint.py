"""Checkpoints: a Hugging Face folder that `from_pretrained` opens, with the optimizer and the counters beside it.

Written to a temporary folder, synced, listed in MANIFEST.json with sizes and SHA-256, then renamed: a checkpoint that
is there is whole. safetensors and JSON only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from strop.errors import DoesNotFit

FORMAT = 1


def save(
    folder: Path,
    step: int,
    *,
    write_parts: Callable[[Path], None],
    optimizer: Mapping[str, Tensor],
    state: Mapping[str, Any],
) -> Path:
    """Write checkpoints/step-NNNNNN and return its path. One that is there already is left as it is.

    Raises:
        DoesNotFit: the disk is full; the temporary folder is gone and earlier checkpoints are untouched.
    """
    target = folder / f"step-{step:06d}"
    if target.exists():
        return target
    temporary = folder / f".tmp-{step:06d}"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        write_parts(temporary)
        save_file(dict(optimizer), temporary / "optimizer.safetensors")
        counters = {"format": FORMAT, "step": step, **state}
        (temporary / "state.json").write_text(json.dumps(counters, indent=2) + "\n")
        seal(temporary, step)
        temporary.rename(target)
        sync(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        free = shutil.disk_usage(folder).free
        raise DoesNotFit(f"cannot write checkpoint {target}: {error}; {free / 2**20:.0f} MiB are free there") from error
    return target


def retain(folder: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints; each is renamed first, so that none is ever seen half deleted."""
    for victim in sorted(folder.glob("step-*"))[:-keep]:
        doomed = victim.with_name(f".del-{victim.name}")
        victim.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def seal(folder: Path, step: int) -> None:
    """Sync every file and write MANIFEST.json, the last one."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listed = [
        {"name": str(path.relative_to(folder)), "bytes": path.stat().st_size, "sha256": digest(path)} for path in files
    ]
    manifest = folder / "MANIFEST.json"
    manifest.write_text(json.dumps({"format": FORMAT, "step": step, "files": listed}, indent=2) + "\n")
    for path in (*files, manifest, folder):
        sync(path)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
