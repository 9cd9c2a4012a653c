"""A program in the place of a tracker's process: fake_tracker.py FOLDER DEED CALL

It writes what it is told to FOLDER/told.jsonl. At every CALL (start, log, finish) it does its DEED: raises, waits until
FOLDER/go is there, leaves, or prints; `child` starts a process that outlives it, and then waits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from strop.run import tracker_worker

FOLDER, DEED, CALL = Path(sys.argv[1]), sys.argv[2], sys.argv[3]


class Fake:
    def start(self, config: dict[str, Any], name: str, folder: Path) -> None:
        self.told("start", config=config, name=name, folder=str(folder))

    def log(self, step: int, metrics: dict[str, float]) -> None:
        self.told("log", step=step, metrics=metrics)

    def finish(self, summary: dict[str, Any]) -> None:
        self.told("finish", summary=summary)

    def told(self, call: str, **what: Any) -> None:
        (FOLDER / "pid").write_text(str(os.getpid()))
        if call == CALL:
            self.do()
        with (FOLDER / "told.jsonl").open("a") as file:
            file.write(json.dumps({"call": call, **what}) + "\n")

    def do(self) -> None:
        if DEED == "raise":
            raise ConnectionError("the server\nis gone")
        if DEED == "leave":
            os._exit(3)
        if DEED == "print":
            print("not an answer", flush=True)
        if DEED == "child":
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            (FOLDER / "child").write_text(str(child.pid))
        while DEED in ("wait", "child") and not (FOLDER / "go").exists():
            time.sleep(0.01)


if __name__ == "__main__":
    tracker_worker.LEAVE_S = 0.5
    tracker_worker.find = lambda name: Fake()  # type: ignore[assignment]
    tracker_worker.main()
