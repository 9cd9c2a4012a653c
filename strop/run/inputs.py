"""What a run read besides its model, by content: so that a folder can say which data and which reward made it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strop.run.checkpoint import digest


def fingerprints(paths: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Name, size and SHA-256 of each file that is there, by the setting that names it; no other part of its path.

    A folder's SHA-256 is that of the lines `SHA-256  name` of its files, in the order of their names.
    """
    return {key: fingerprint(path) for key, path in paths.items() if path.exists()}


def fingerprint(path: Path) -> dict[str, Any]:
    if path.is_file():
        return {"name": path.name, "bytes": path.stat().st_size, "sha256": digest(path)}
    files = sorted(file for file in path.rglob("*") if file.is_file())
    lines = "".join(f"{digest(file)}  {file.relative_to(path).as_posix()}\n" for file in files)
    size = sum(file.stat().st_size for file in files)
    return {"name": path.name, "bytes": size, "sha256": hashlib.sha256(lines.encode()).hexdigest()}
