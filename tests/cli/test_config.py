from __future__ import annotations

import json
from pathlib import Path

import pytest

from strop.cli.main import run
from strop.config.schema import LEAVES


def test_every_value_is_shown_with_its_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("rollout: {max_staleness: 3}\n")
    assert run(["config", str(file), "--train.steps", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = {line.split()[0]: line.split()[1:] for line in lines}
    assert table["train.steps"] == ["3", "flag"]
    assert table["rollout.max_staleness"] == ["3", "file", f"{file}:1"]
    assert table["objective.trust"] == ["clip(low=0.2,", "high=0.28)", "row"]
    assert table["seed"] == ["0", "default"]
    assert set(LEAVES) <= set(table)
    assert lines[-1].startswith(f"warning: {file}:1: rollout.max_staleness has no effect")


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "--json", "--algorithm", "dr_grpo", "--objective.ratio", "sequence"]) == 0
    record = json.loads(capsys.readouterr().out)
    keys = record["keys"]
    assert list(keys) == list(LEAVES)
    assert keys["objective.ratio"] == {"value": "sequence", "source": "flag"}
    assert keys["objective.advantage"] == {"value": {"kind": "centered"}, "source": "row"}
    assert keys["objective.length"] == {"value": keys["rollout.max_tokens"]["value"], "source": "row"}
    assert record["warnings"] == []
