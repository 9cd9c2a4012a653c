"""A Hugging Face hub cache made by hand, in the layout that huggingface_hub reads offline."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path


def cache(home: Path, repository: str, folder: Path, *, commit: str, branch: str = "main") -> Path:
    """The files of `folder` as one commit of a repository in HOME/hub, which is returned."""
    root = home / "hub" / f"models--{repository.replace('/', '--')}"
    snapshot = root / "snapshots" / commit
    for part in (root / "refs", root / "blobs", snapshot):
        part.mkdir(parents=True, exist_ok=True)
    (root / "refs" / branch).write_text(commit)
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        blob = root / "blobs" / hashlib.sha256(file.read_bytes()).hexdigest()
        shutil.copyfile(file, blob)
        (snapshot / file.name).symlink_to(Path("../../blobs") / blob.name)
    return home / "hub"
