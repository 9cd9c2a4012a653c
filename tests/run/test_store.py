"""The run folder: a new one each time, rows that are whole, and a Parquet file with every completion's fate."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from strop.errors import ConfigError
from strop.run.store import ROLLOUT_SCHEMA, Credit, RunFolder, environment, read_rows
from tests.learner import ragged_groups


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "mine", algorithm="dapo")
    with pytest.raises(ConfigError, match="mine is there already.*--run"):
        RunFolder.create(tmp_path, "mine", algorithm="dapo")


def test_made_names_are_readable_and_never_clash(tmp_path: Path) -> None:
    paths = [RunFolder.create(tmp_path, "", algorithm="dapo").path for _ in range(3)]
    assert len({path.name for path in paths}) == 3
    assert all(path.name.startswith("dapo-20") for path in paths)


def test_every_completion_is_in_the_rollouts_with_what_became_of_it(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "r", algorithm="dapo")
    kept, dropped = ragged_groups((3, 2))
    path = folder.write_rollouts(
        12, [(dropped, "all_wrong"), (kept, "trained")], {kept.draw: Credit(25, (1.0, -0.5, -0.5))}
    )
    assert path.name == "step-000012.parquet"
    table = pq.read_table(path)
    assert table.schema.equals(ROLLOUT_SCHEMA)
    rows = table.to_pylist()
    assert [(row["draw"], row["completion"]) for row in rows] == [(0, 0), (0, 1), (0, 2), (7, 0), (7, 1)]
    assert [row["fate"] for row in rows] == ["trained"] * 3 + ["all_wrong"] * 2
    assert [row["advantage"] for row in rows] == [1.0, -0.5, -0.5, None, None]
    assert [row["update"] for row in rows] == [25, 25, 25, None, None]
    first = kept.rollouts[0]
    assert tuple(rows[0]["ids"]) == first.completion.ids
    assert rows[0]["reward"] == first.score + first.penalty
    assert not list(path.parent.glob(".tmp*"))


def test_rows_are_appended_and_a_nan_is_refused_rather_than_written(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "r", algorithm="dapo")
    folder.append("metrics.jsonl", {"step": 1, "text": "\u2028 line"})
    folder.append("metrics.jsonl", {"step": 2, "kl": None})
    with pytest.raises(ValueError, match="not JSON compliant"):
        folder.append("metrics.jsonl", {"step": 3, "loss": float("nan")})
    assert [row["step"] for row in read_rows(folder.path / "metrics.jsonl")] == [1, 2]


def test_the_environment_names_versions_and_no_user_host_or_path() -> None:
    import getpass
    import socket

    text = json.dumps(environment())
    assert environment()["packages"]["torch"]
    assert str(Path.cwd()) not in text
    assert socket.gethostname() not in text
    assert f"/{getpass.getuser()}" not in text
