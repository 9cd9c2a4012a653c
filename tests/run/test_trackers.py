"""Trackers that raise, hang and leave: the run loses no time by them, hears of it once, and leaves nothing behind."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strop.config.reader import read_text
from strop.errors import ConfigError
from strop.run import trackers
from strop.run.trackers import Trackers, check_installed, flattened, sendable
from tests.shape.source import ROOT

FAKE = Path(__file__).with_name("fake_tracker.py")
CALLS = ("start", "log", "finish")


def fake(folder: Path, deed: str = "", call: str = "") -> list[str]:
    return [sys.executable, str(FAKE), str(folder), deed or "-", call or "-"]


class Bed:
    """A folder, the trackers whose processes are fakes that do `deed` at `call`, and what they warned of."""

    def __init__(self, folder: Path, deed: str = "", call: str = "", names: tuple[str, ...] = ("wandb",)) -> None:
        self.folder = folder
        self.warnings: list[str] = []
        self.threads: set[int] = set()
        config = {"seed": 0, "task.file": "/home/somebody/data/train.jsonl"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trackers, "command_of", lambda name: fake(folder, deed, call))
            self.trackers = Trackers(names, config, folder, self.warned)
        self.lines = [delivery.line for delivery in self.trackers.deliveries]

    def warned(self, text: str) -> None:
        self.warnings.append(text)
        self.threads.add(threading.get_ident())

    def told(self, call: str) -> list[dict[str, Any]]:
        rows = (self.folder / "told.jsonl").read_text().splitlines()
        return [row for row in map(json.loads, rows) if row["call"] == call]

    def release(self) -> None:
        (self.folder / "go").touch()


def until(holds: Callable[[], bool]) -> None:
    """Wait for a cause, not for a time; the test's own time-out ends what never comes."""
    while not holds():
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """A process that has ended and that nobody has asked about yet does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("strop-")]


def test_every_row_arrives_once_under_the_runs_own_step_and_evaluations_under_the_same(tmp_path: Path) -> None:
    """Report B58 (https://github.com/PrimeIntellect-ai/prime-rl/pull/1668): no counter but the run's own."""
    bed = Bed(tmp_path)
    bed.trackers.log(0, {"eval/avg": 0.25})
    for step in (1, 2):
        bed.trackers.log(step, {"step": step, "update": 4 * step, "loss": 0.5, "kl": None, "eval/avg": step / 4})
    bed.trackers.log(2, {"eval/avg": 0.75})
    bed.trackers.finish({"verdict": "improved", "ledger": {"trained": 8}})
    assert [row["step"] for row in bed.told("log")] == [0, 1, 2, 2]
    assert bed.told("log")[2]["metrics"] == {"update": 8, "loss": 0.5, "eval/avg": 0.5}
    assert bed.told("finish")[0]["summary"] == {"verdict": "improved", "ledger/trained": 8}
    assert bed.warnings == []


def test_a_step_may_be_sent_again_after_later_ones(tmp_path: Path) -> None:
    """Report B58: a run that is resumed from step 40 sends step 41 a second time, and it is no less delivered."""
    bed = Bed(tmp_path)
    for step in (40, 41, 42, 43, 41, 42, 43, 44):
        bed.trackers.log(step, {"loss": 0.5})
    bed.trackers.finish({})
    assert [row["step"] for row in bed.told("log")] == [40, 41, 42, 43, 41, 42, 43, 44]


def test_what_is_sent_names_no_folder_of_the_machine(tmp_path: Path) -> None:
    bed = Bed(tmp_path)
    bed.trackers.finish({"verdict": "stopped: /home/somebody/data/train.jsonl:3: bad row"})
    [start] = bed.told("start")
    assert start["config"] == {"seed": 0, "task.file": "train.jsonl"}
    assert start["name"] == tmp_path.name
    assert bed.told("finish")[0]["summary"]["verdict"] == "stopped: train.jsonl:3: bad row"


@pytest.mark.parametrize("call", CALLS)
def test_a_tracker_that_raises_is_told_once_and_counted(tmp_path: Path, call: str) -> None:
    """Report B58: a raising tracker warns and training goes on."""
    bed = Bed(tmp_path, "raise", call)
    for step in range(5):
        bed.trackers.log(step, {"loss": 0.5})
    bed.trackers.finish({})
    [trouble, *lack] = bed.warnings
    assert "tracker wandb: " in trouble and "ConnectionError: the server is gone" in trouble and call in trouble
    assert lack == (["tracker wandb lacks 5 of 5 rows; the run folder has them"] if call == "log" else [])


@pytest.mark.parametrize("call", CALLS)
def test_a_tracker_that_hangs_takes_no_time_from_the_run_and_is_ended_with_it(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tracker never comes back from `call`: had `log` or `finish` waited for it, they would not return either."""
    bed = Bed(tmp_path, "wait", call)
    until((tmp_path / "pid").exists)
    for step in range(5):
        bed.trackers.log(step, {"loss": 0.5})
    monkeypatch.setattr(trackers, "FINISH_S", 0.3)
    bed.trackers.finish({})
    assert "not done 0.3 s after the run, so it was ended" in bed.warnings[0]
    assert not is_running(int((tmp_path / "pid").read_text()))
    assert own_threads() == []


def test_a_tracker_that_comes_back_from_a_stall_has_lost_nothing(tmp_path: Path) -> None:
    bed = Bed(tmp_path, "wait", "start")
    for step in range(50):
        bed.trackers.log(step, {"loss": 0.5})
    bed.release()
    bed.trackers.finish({})
    assert [row["step"] for row in bed.told("log")] == list(range(50))
    assert bed.warnings == []


def test_a_full_queue_drops_and_counts_and_never_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trackers, "ROWS", 3)
    bed = Bed(tmp_path, "wait", "start")
    until((tmp_path / "pid").exists)
    for step in range(10):
        bed.trackers.log(step, {"loss": 0.5})
    assert bed.warnings == ["tracker wandb: 3 rows wait for it, and it takes none; the run goes on"]
    bed.release()
    bed.trackers.finish({})
    assert [row["step"] for row in bed.told("log")] == [0, 1, 2]
    assert bed.warnings[1:] == ["tracker wandb lacks 7 of 10 rows; the run folder has them"]


def test_a_trackers_process_that_ends_is_told_and_counted(tmp_path: Path) -> None:
    bed = Bed(tmp_path, "leave", "log")
    bed.trackers.log(1, {"loss": 0.5})
    bed.trackers.finish({})
    assert bed.warnings[0] == "tracker wandb: its process has ended"
    assert bed.warnings[1] == "tracker wandb lacks 1 of 1 rows; the run folder has them"


def test_what_a_tracker_prints_is_no_answer_and_no_line_of_the_runs_screen(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bed = Bed(tmp_path, "print", "log")
    bed.trackers.log(1, {"loss": 0.5})
    bed.trackers.finish({})
    assert bed.warnings == []
    assert capfd.readouterr() == ("", "")


def test_one_tracker_in_trouble_takes_nothing_from_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {"wandb": tmp_path / "bad", "trackio": tmp_path / "good"}
    for folder in folders.values():
        folder.mkdir()
    monkeypatch.setattr(trackers, "command_of", lambda name: fake(folders[name], "wait" * (name == "wandb"), "start"))
    monkeypatch.setattr(trackers, "FINISH_S", 0.3)
    warnings: list[str] = []
    both = Trackers(["wandb", "trackio", "wandb"], {}, tmp_path, warnings.append)
    both.log(1, {"loss": 0.5})
    until(lambda: both.deliveries[1].taken == 1)
    both.finish({})
    assert all("trackio" not in text for text in warnings)
    assert [json.loads(row)["call"] for row in (folders["trackio"] / "told.jsonl").read_text().splitlines()] == [*CALLS]


def test_warnings_come_from_the_thread_of_the_run(tmp_path: Path) -> None:
    bed = Bed(tmp_path, "raise", "log")
    bed.trackers.log(1, {"loss": 0.5})
    bed.trackers.finish({})
    assert bed.threads == {threading.get_ident()}


def test_a_run_that_is_dropped_leaves_no_thread_and_no_process(tmp_path: Path) -> None:
    bed = Bed(tmp_path)
    bed.trackers.log(1, {"loss": 0.5})
    [line] = bed.lines
    del bed.trackers
    gc.collect()
    until(lambda: own_threads() == [])
    assert line.process.poll() == 0
    assert [row["step"] for row in bed.told("log")] == [1]
    assert bed.told("finish") == [{"call": "finish", "summary": {}}]


def test_no_tracker_is_no_process_and_no_thread(tmp_path: Path) -> None:
    none = Trackers([], {}, tmp_path, lambda text: None)
    none.log(1, {"loss": 0.5})
    none.finish({})
    assert own_threads() == []


def test_a_tracker_that_is_not_installed_is_refused_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder called wandb, which an earlier run may have left behind, does not count as the library."""
    name = "strop_no_such_tracker"
    (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    check_installed(["json"])
    with pytest.raises(ConfigError, match=rf"^save.trackers: {name} is not installed; pip install 'strop\[{name}\]'$"):
        check_installed(["json", name])


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("/data/models/qwen", "qwen"),
        ("/home/some body/reward.py:score", "reward.py:score"),
        ("~/data/train.jsonl", "train.jsonl"),
        ("data/train.jsonl", "data/train.jsonl"),
        ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
        ("strop:tiny", "strop:tiny"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("cannot read '/srv/x/y.parquet': 3/4 of it", "cannot read 'y.parquet': 3/4 of it"),
        ([{"file": "/a/b"}, 3, True, ""], [{"file": "b"}, 3, True, ""]),
    ],
)
def test_of_an_absolute_path_its_last_part_is_sent(given: Any, sent: Any) -> None:
    assert sendable(given) == sent


def test_of_a_nested_summary_numbers_and_texts_are_sent() -> None:
    nested = {"a": {"b": 1, "c": {"d": "x"}, "e": [1, 2], "f": None, "g": float("nan")}, "h": True, "i": 2.5}
    assert flattened(nested) == {"a/b": 1, "a/c/d": "x", "i": 2.5}


def test_a_run_that_is_killed_takes_its_trackers_with_it(tmp_path: Path) -> None:
    """Even one that hangs, and what that has started: it sees the end of its input, and ends LEAVE_S later."""
    code = f"""
import os, pathlib
from tests.run.test_trackers import Bed, until
bed = Bed(pathlib.Path({str(tmp_path)!r}), "child", "log")
bed.trackers.log(1, {{"loss": 0.5}})
until((bed.folder / "child").exists)
os.kill(os.getpid(), 9)
"""
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert killed.returncode == -9
    tracker, child = (int((tmp_path / name).read_text()) for name in ("pid", "child"))
    until(lambda: not is_running(tracker) and not is_running(child))


def test_the_page_of_trackers_shows_a_setting_that_is_read_and_every_tracker() -> None:
    page = (ROOT / "docs" / "trackers.md").read_text(encoding="utf-8")
    [yaml] = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    assert read_text(yaml, name="page")["save.trackers"].value == ["tensorboard", "wandb"]
    assert set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)) == {"tensorboard", "wandb", "trackio"}
    assert f"queue ({trackers.ROWS} rows)" in page and f"{trackers.FINISH_S:g} seconds, all together" in page
