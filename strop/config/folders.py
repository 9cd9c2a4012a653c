"""What a setting may name inside a run folder."""

from __future__ import annotations

from pathlib import Path


def newest_checkpoint(run: Path) -> Path | None:
    """The newest whole checkpoint of a run folder, a model folder that `--model` takes; None if it has saved none."""
    return max((path.parent for path in run.glob("checkpoints/step-*/config.json")), default=None)
