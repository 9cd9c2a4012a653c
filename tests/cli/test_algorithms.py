from __future__ import annotations

import json

import pytest

from strop.algorithms import ROWS
from strop.cli.main import run


def test_the_table_has_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["algorithms"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in ROWS)


def test_the_table_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["algorithms", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["row"] for row in rows] == list(ROWS)
    assert rows[0]["trust"] == {"kind": "clip", "low": 0.2, "high": 0.28, "dual": "inf"}
