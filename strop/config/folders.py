"""What a setting may name inside a run folder."""

from __future__ import annotations

from pathlib import Path


def newest_checkpoint(run: Path) -> Path | None:
    """The newest whole checkpoint of a run folder, which `--model` takes; None if it has saved none."""
    return max((path for path in run.glob("checkpoints/step-*") if holds_model(path)), default=None)


def holds_model(folder: Path) -> bool:
    """Whether a folder holds a whole model, or adapters over one."""
    return any((folder / name).is_file() for name in ("config.json", "adapter_config.json"))
