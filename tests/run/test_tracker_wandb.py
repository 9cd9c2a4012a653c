"""wandb and trackio themselves, without a network: what was sent is in the run's folder, and nowhere else."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strop.run import trackers
from strop.run.tracker_wandb import Wandb
from tests.shape.source import ROOT

pytestmark = pytest.mark.slow

ROWS = [(0, {"eval/avg": 0.25}), (1, {"loss": 0.5}), (2, {"loss": -1.5}), (2, {"eval/avg": 0.75})]
CONFIG = {"seed": 1, "model": "/home/somebody/models/qwen"}
WITHOUT = ["unshare", "-n"] if os.geteuid() == 0 else []
"""Root may take the network away; others show by a proxy that nobody asks for it."""

SEND = f"""
import json, sys
from pathlib import Path
from strop.run import trackers as module
module.FINISH_S = 60
warnings = []
trackers = module.Trackers(sys.argv[1:2], {CONFIG!r}, Path(sys.argv[2]), warnings.append)
for step, metrics in json.loads(sys.argv[3]):
    trackers.log(step, metrics)
trackers.finish({{"verdict": "improved"}})
print(json.dumps(warnings))
"""


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[Any]]]:
    """The address of a proxy that every library would go through, and the connections that were made to it."""
    calls: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, args=(server, calls), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", calls
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in calls:
        connection.close()


def accept(server: socket.socket, calls: list[Any]) -> None:
    while True:
        try:
            calls.append(server.accept()[0])
        except OSError:
            return


def send(name: str, folder: Path, *, proxy: str = "", **more: str) -> None:
    """Send ROWS from a process of its own, whose home is empty, so that no login of the machine's counts."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("WANDB_", "TRACKIO_", "HF_"))}
    proxies = {name: proxy for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")}
    environment = {**kept, **(proxies if proxy else {}), "HOME": str(folder / "home"), **more}
    command = [*([] if proxy else WITHOUT), sys.executable, "-c", SEND, name, str(folder), json.dumps(ROWS)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def wandb_records(folder: Path) -> list[Any]:
    """The records of the one run in a folder that wandb wrote: a LevelDB log behind a header of 7 bytes."""
    from wandb.proto import wandb_internal_pb2

    [path] = folder.glob("wandb/offline-run-*/run-*.wandb")
    data, place, whole, found = path.read_bytes(), 7, b"", []
    while place + 7 <= len(data):
        left = 2**15 - place % 2**15
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            found.append(wandb_internal_pb2.Record.FromString(whole))
            whole = b""
    return found


def wandb_rows(folder: Path) -> list[dict[str, Any]]:
    histories = [record.history for record in wandb_records(folder) if record.HasField("history")]
    rows = [{item.nested_key[0]: json.loads(item.value_json) for item in history.item} for history in histories]
    return [{key: value for key, value in row.items() if key not in ("_timestamp", "_runtime")} for row in rows]


def test_wandb_offline_needs_no_network_and_keeps_every_step_in_the_runs_folder(tmp_path: Path) -> None:
    """Report B58: offline, files on disk; train and evaluation at the same step, which is the run's own."""
    send("wandb", tmp_path)
    assert wandb_rows(tmp_path) == [
        {"_step": 0, "step": 0, "eval/avg": 0.25},
        {"_step": 1, "step": 1, "loss": 0.5},
        {"_step": 2, "step": 2, "loss": -1.5, "eval/avg": 0.75},
    ]


def test_wandb_is_told_nothing_of_the_machine(tmp_path: Path) -> None:
    send("wandb", tmp_path)
    text = "\n".join(map(str, wandb_records(tmp_path)))
    [sent] = tmp_path.glob("wandb/offline-run-*")
    assert not (sent.parent / "latest-run").exists()
    assert {path.name for path in sent.rglob("*") if path.is_file() and path.parent.name != "logs"} == {
        f"run-{sent.name.rpartition('-')[2]}.wandb"
    }
    assert '"qwen\\"' in text.replace("\\\\", "\\")
    for word in ("/home", str(tmp_path), f'host: "{socket.gethostname()}"', sys.executable):
        assert word not in text


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_nothing_leaves_the_machine_unasked(name: str, tmp_path: Path, proxy: tuple[str, list[Any]]) -> None:
    """Report B58: offline runs still call out. Here nobody comes to the proxy that all of them would go through."""
    address, calls = proxy
    send(name, tmp_path, proxy=address, HF_TOKEN="hf_" + "0" * 34, WANDB_API_KEY="0" * 40)
    assert calls == []


def test_trackio_needs_no_network_and_keeps_every_step_in_the_runs_folder(tmp_path: Path) -> None:
    send("trackio", tmp_path)
    with sqlite3.connect(tmp_path / "trackio" / "strop.db") as database:
        found = database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY id").fetchall()
    database.close()
    assert [(run, step, json.loads(metrics)) for run, step, metrics in found] == [
        (tmp_path.name, step, metrics) for step, metrics in ROWS
    ]


def test_trackio_keeps_runs_together_where_the_user_says(tmp_path: Path) -> None:
    send("trackio", tmp_path, TRACKIO_DIR=str(tmp_path / "mine"))
    assert (tmp_path / "mine" / "strop.db").is_file()
    assert not (tmp_path / "trackio").exists()


def test_an_older_step_is_marked_and_not_lost_by_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report B58: wandb drops what comes with a step below its own counter, so it gets the next count, and the step."""
    logged: list[tuple[int, int]] = []

    class Run:
        def log(self, row: dict[str, float], step: int) -> None:
            logged.append((int(row["step"]), step))

    tracker = Wandb()
    tracker.run, tracker.count = Run(), 0  # type: ignore[assignment]
    for step in (40, 41, 42, 41, 42, 43, 44, 50):
        tracker.log(step, {"loss": 0.5})
    steps, counts = zip(*logged, strict=True)
    assert steps == (40, 41, 42, 41, 42, 43, 44, 50)
    assert list(counts) == sorted(set(counts))


def test_wandb_online_behind_a_proxy_that_never_answers_ends_with_the_run(
    tmp_path: Path, proxy: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever is told to call does come to this proxy."""
    address, calls = proxy
    for name, value in (("HTTPS_PROXY", address), ("WANDB_MODE", "online"), ("WANDB_API_KEY", "0" * 40)):
        monkeypatch.setenv(name, value)
    warnings: list[str] = []
    sent = trackers.Trackers(["wandb"], {}, tmp_path, warnings.append)
    [delivery] = sent.deliveries
    sent.log(1, {"loss": 0.5})
    while not calls:
        delivery.thread.join(0.01)
    monkeypatch.setattr(trackers, "FINISH_S", 0.5)
    sent.finish({})
    assert warnings == [
        "tracker wandb: not done 0.5 s after the run, so it was ended",
        "tracker wandb lacks 1 of 1 rows; the run folder has them",
    ]
    assert delivery.line.process.poll() == -9
