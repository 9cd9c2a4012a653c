"""The line to a tracker's process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from strop.run.tracker_line import Line, TrackerError, family, with_strop

ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    print(json.dumps({"error": message["fail"]} if "fail" in message else {}), flush=True)
"""


def test_a_message_is_answered_or_its_error_is_raised_and_the_line_stays_open() -> None:
    line = Line([sys.executable, "-c", ECHO])
    line.call({"log": {"text": "two\nlines and \u2028 a third"}})
    with pytest.raises(TrackerError, match="^out of luck$"):
        line.call({"fail": "out of luck"})
    line.call({"log": {}})
    line.close()
    assert line.process.returncode == 0


def test_a_process_that_is_gone_is_an_error_and_no_broken_pipe() -> None:
    line = Line([sys.executable, "-c", "pass"])
    line.process.wait()
    for _ in range(2):
        with pytest.raises(TrackerError, match="^its process has ended$"):
            line.call({"log": {}})
    line.kill()
    line.close()


def test_to_kill_a_process_is_to_kill_what_it_started_in_a_session_of_its_own_too() -> None:
    code = (
        "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True); input()"
    )
    line = Line([sys.executable, "-c", code])
    child = int(line.out.readline())
    assert family(line.process.pid) == [child, line.process.pid]
    line.kill()
    line.close()
    stat = Path(f"/proc/{child}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    assert line.process.returncode == -9


def test_ctrl_c_on_the_terminal_is_not_for_the_tracker() -> None:
    line = Line([sys.executable, "-c", ECHO])
    assert os.getsid(line.process.pid) != os.getsid(0)
    line.close()


def test_a_process_finds_this_strop_from_anywhere_and_keeps_the_users_own_path(tmp_path: Path) -> None:
    given = with_strop({"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)})
    code = "import strop.run.trackers, sys; print(*sys.path, sep='\\n')"
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=True)
    assert str(tmp_path) in done.stdout.splitlines()
