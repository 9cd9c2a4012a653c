"""A nursery is started as a program, or forked with a function in memory while no other thread runs."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from strop.errors import ConfigError
from strop.rewards import nest as nests
from strop.rewards.find import as_reward
from strop.rewards.nest import Nest, forked, other_threads, started
from strop.rewards.worker import Setup
from tests.rewards.made import reward_file
from tests.rewards.test_nursery import Ends, gone, worker

FINE = "def score(prompt, completion):\n    return 1.0\n"


def setup(*uses: str, **how: Any) -> Setup:
    return Setup(uses, 0, 10.0, 2048, how.get("sandbox", "auto"), tuple(how.get("path", sys.path)))


def begun(tmp_path: Path, text: str, **how: Any) -> Nest:
    return started(setup(f"{reward_file(tmp_path, text)}:score", **how), warm=True)


FAULTS = {
    "import nowhere": "fails on import: ModuleNotFoundError",
    "import os\nos._exit(3)": "mine.py:score: its import ended the process it ran in",
    "import sys\nsys.exit(0)": "fails on import: SystemExit",
    "def scores(completion, prompt): ...": "has no function 'score'; it has scores",
    "def score(): ...": "takes no completion",
    "import os\nos.kill(os.getpid(), 9)": "its import ended the process",
}


@pytest.mark.parametrize("text, message", FAULTS.items(), ids=range(len(FAULTS)))
def test_a_reward_that_cannot_be_had_is_a_config_error(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        begun(tmp_path, text).greeted("mine.py:score")


def test_an_import_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "START_S", 0.5)
    monkeypatch.setattr(nests, "END_S", 0.5)
    nest = begun(tmp_path, "while True: pass")
    with pytest.raises(ConfigError, match=r"mine: its import takes more than 0\.5 s"):
        nest.greeted("mine")
    assert gone([nest.pid])


def test_it_says_why_workers_cannot_be_forked_warm(tmp_path: Path) -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    nest = begun(tmp_path, thread + FINE).greeted("mine")
    assert nest.cold == "its import started a thread"
    nest.close()


def test_a_module_is_looked_for_where_the_run_looks_for_it_and_not_in_the_folder_it_stands_in(tmp_path: Path) -> None:
    reward_file(tmp_path, FINE, "strop_own_reward.py")
    started(setup("strop_own_reward.score", path=[str(tmp_path), *sys.path]), warm=True).greeted("x").close()
    with pytest.raises(ConfigError, match="No module named 'strop_own_reward'"):
        started(setup("strop_own_reward.score", path=sys.path), warm=True).greeted("x")


def test_a_worker_s_environment_is_the_run_s_with_what_code_asks_for_and_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    names = ("PYTHONPATH", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "STROP_SANDBOX", "STROP_DEADLINE_S")
    text = f"import os\ndef score(prompt, completion):\n    raise ValueError([os.environ.get(n) for n in {names}])\n"
    nest = begun(tmp_path, text, sandbox="unsafe").greeted("x")
    ends = worker(nest)
    ends.ask("x")
    assert "['/somewhere', '3', '1', 'unsafe', '10.0']" in str(ends.hear())
    ends.close()
    nest.close()


def test_a_function_with_what_it_closes_over_runs_in_forked_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "other_threads", lambda: [])
    kept: list[int] = [41]

    def score(prompt: str, completion: str) -> float:
        kept[0] += 1
        return float(kept[0]) + (os.getpid() == here) * 100

    here = os.getpid()
    nest = forked(setup("score"), [as_reward(score)]).greeted("score")
    ends = worker(nest)
    for expected in (42.0, 43.0):
        ends.ask("x")
        assert ends.hear() == [[1, 0, [expected]]]
    assert kept == [41]
    ends.close()
    nest.close()
    assert gone([nest.pid])


def test_closing_twice_or_in_a_forked_child_does_nothing(tmp_path: Path) -> None:
    nest = begun(tmp_path, FINE).greeted("x")
    child = os.fork()
    if not child:
        nest.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert not nest.ended()
    nest.close()
    nest.close()
    assert nest.ended()


def test_a_nursery_that_has_ended_gives_wires_that_have_ended(tmp_path: Path) -> None:
    nest = begun(tmp_path, FINE).greeted("x")
    os.kill(nest.pid, 9)
    while not nest.ended():
        continue
    ends = Ends(*nest.fork(0))
    assert ends.hear() == b""
    ends.close()
    nest.kill(0)
    nest.close()


def test_a_thread_that_may_hold_a_lock_is_told_by_name_and_a_sleeping_bar_is_not() -> None:
    class TMonitor(threading.Thread):
        __module__ = "tqdm._monitor"

    before = set(other_threads())
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait, name="busy"), TMonitor(target=stop.wait, name="bar")]
    for thread in threads:
        thread.start()
    assert set(other_threads()) - before == {"busy"}
    stop.set()
    for thread in threads:
        thread.join()
