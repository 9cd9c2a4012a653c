"""Every file that a task's settings name is found, by setting."""

from __future__ import annotations

from pathlib import Path

from strop.config.files import input_paths
from strop.config.schema_task import Task


def test_data_held_out_data_and_files_of_rewards_are_found_in_a_mixture_too() -> None:
    mixed = [{"file": "b.csv", "reward": "pkg.mod.f"}, {"kind": "arithmetic"}]
    rewards = ["math", {"use": "dir/r.py:f", "weight": 0.5}, "s.py:g"]
    task = Task.model_validate({"file": "a.jsonl", "held_out_file": "h.jsonl", "reward": rewards, "mix": mixed})
    assert input_paths(task) == {
        "task.reward.0": Path("dir/r.py"),
        "task.reward.1": Path("s.py"),
        "task.file": Path("a.jsonl"),
        "task.held_out_file": Path("h.jsonl"),
        "task.mix.0.file": Path("b.csv"),
    }
    assert input_paths(Task()) == {}
