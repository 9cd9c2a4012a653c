"""The files and folders that a task's settings name, by the setting that names each."""

from __future__ import annotations

from pathlib import Path

from strop.config.schema_task import Task


def input_paths(task: Task) -> dict[str, Path]:
    """Setting -> path, whether it is there or not: data, held-out data and files of rewards, of every mixed task."""
    found: dict[str, Path] = {}
    for prefix, source in [("task", task), *((f"task.mix.{i}", mixed) for i, mixed in enumerate(task.mix))]:
        rewards = [source.reward] if isinstance(source.reward, str) else source.reward
        uses = [reward if isinstance(reward, str) else str(reward.get("use", "")) for reward in rewards]
        files = [use.rpartition(":")[0] for use in uses if ":" in use]
        found |= {f"{prefix}.reward.{i}": Path(file).expanduser() for i, file in enumerate(files)}
        named = {"file": source.file, "held_out_file": source.held_out_file}
        found |= {f"{prefix}.{key}": Path(path).expanduser() for key, path in named.items() if path}
    return found
