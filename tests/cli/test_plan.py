from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from strop.cli.main import run
from strop.config.reader import split_arguments
from strop.plan import plan as module
from strop.plan import probe as probing
from strop.plan.memory import LOWER
from strop.plan.probe import Probe
from strop.plan.program import Program
from tests.shape.source import ROOT

FOUND = Probe(5.0, (3.0, 2.0), (2.0, 1.0), (320, 352), 1.5, 600 * 2**20, 9000)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "measured", lambda model, rank: Program(400 * 2**20, 25 * 2**20))
    monkeypatch.setattr(module, "free_memory", lambda: 8 * 2**30)
    monkeypatch.setattr(probing, "probe", lambda config: FOUND)


def test_the_screen_shows_counts_memory_disk_time_and_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "--device", "cpu", "--runs", str(tmp_path), "--train.parallel", "fsdp"]) == 0
    out = capsys.readouterr().out
    lines = {line.split("  ")[1].strip(): line for line in out.splitlines() if line.startswith("  ") and line.strip()}
    assert "warning: train.parallel fsdp has no effect" in out
    assert "32 groups of 8 = 256 completions" in lines["step"]
    assert "in 1 micro-batch of 64" in lines["update"]
    assert lines["program"].split()[1:] == ["400.0"] * 4
    assert lines["free now"].split()[2:] == ["8,192.0"] * 4
    assert "7 MiB each, at most 2 at once" in lines["checkpoints"] or "checkpoints" in lines
    assert "3.0 s and 2.0 s; 42 groups drawn on average" in lines["a step"]
    assert out.splitlines()[-1].startswith("fits: ")
    columns = [len(line) for name, line in lines.items() if name in ("program", "weights", "together", "free now")]
    assert len(set(columns[:2])) == 1


def test_json_is_the_whole_plan_and_without_a_probe_there_is_no_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["plan", "--runs", str(tmp_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["fits"] and record["time"]["low"] < record["time"]["high"]
    monkeypatch.setattr(probing, "probe", lambda config: pytest.fail("a probe"))
    assert run(["plan", "--runs", str(tmp_path), "--json", "--no-probe"]) == 0
    assert json.loads(capsys.readouterr().out)["time"] is None


@pytest.mark.parametrize("json_too", [[], ["--json"]], ids=["screen", "json"])
def test_what_cannot_fit_ends_with_3_and_one_line_before_anything_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, json_too: list[str]
) -> None:
    monkeypatch.setattr(probing, "probe", lambda config: pytest.fail("a probe"))
    big = ["--rollout.prompts", "40000", "--train.updates", "1", "--train.tokens_per_micro_batch", "10000000"]
    assert run(["plan", "--device", "cpu", "--runs", str(tmp_path), *big, *json_too]) == 3
    out, err = capsys.readouterr()
    assert err.startswith("strop: training needs ") and err.count("\n") == 1
    assert "the largest part is the activations" in err and "lower train.tokens_per_micro_batch" in err
    assert not json_too or json.loads(out)["refusal"] in err


PAGE = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")


def test_the_page_lists_every_part_and_its_commands_are_read(tmp_path: Path) -> None:
    listed = re.findall(r"^\| ([\w' ]+) \|", PAGE, flags=re.MULTILINE)

    assert set(LOWER) <= set(listed)
    commands = re.findall(r"^strop plan (.*)$", PAGE, flags=re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        words = [word for word in command.split() if word not in ("--json", "--no-probe")]
        assert split_arguments(words)[0] == ["config.yaml"]
