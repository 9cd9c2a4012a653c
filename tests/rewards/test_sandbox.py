"""A program in a sandbox can do no harm, as root and as a plain user; where there is no sandbox, no program runs."""

from __future__ import annotations

import os
import platform
import resource
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from strop.errors import ConfigError, RewardError
from strop.rewards import sandbox
from strop.rewards.sandbox import INSTALL, Ended, Limits, describe, require, start
from tests.rewards import probes
from tests.rewards.sandboxed import ROOT, below, found, gone, marked, needs_bubblewrap, ran

WHO = ("root", "user")


@pytest.mark.slow
@needs_bubblewrap
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("name", probes.PROBES)
@pytest.mark.xdist_group("probes")
def test_a_program_cannot(name: str, who: str) -> None:
    assert found(who, "sandbox")[name].startswith("contained")


@pytest.mark.slow
@pytest.mark.parametrize("who", WHO)
@pytest.mark.xdist_group("probes")
def test_without_a_sandbox_every_probe_does_its_harm(who: str) -> None:
    bare = found(who, "bare")
    assert [name for name, became in bare.items() if became != "reached"] == []
    assert len(bare) >= len(probes.PROBES) - (len(probes.ROOT_ONLY) if who == "user" else 0)


@needs_bubblewrap
def test_nothing_of_the_host_is_there_but_libraries() -> None:
    program = "import os\nfor folder, _, files in os.walk('/'):\n    [print(f'{folder}/{name}') for name in files]"
    allowed = ("/usr/", "//", "/dev/", "/etc/ld.so.cache", "/etc/alternatives/", "/tmp/program.py")  # noqa: S108
    seen = ran(program)["output"].splitlines()
    mine = (str(Path(os.__file__).parents[1]), *sandbox.packages(), sandbox.python())
    assert len(seen) > 1000
    assert [path for path in seen if not path.startswith((*allowed, *mine))] == []


@needs_bubblewrap
@pytest.mark.parametrize("number", ["os.getppid()", "1", "-1"])
def test_a_program_that_kills_all_it_sees_ends_itself_and_nothing_else(number: str) -> None:
    program = f"import os, signal\nos.kill({number}, signal.SIGKILL)\nos.kill(os.getpid(), signal.SIGKILL)"
    try:
        assert ran(program)["status"] in (1, -9)
    except Ended as ended:
        assert ended.why == "died"
    assert ran("print(1)")["output"] == "1\n"


@needs_bubblewrap
def test_a_program_that_stops_its_keeper_is_late() -> None:
    until = time.monotonic() + 1.5
    with (
        start(
            "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)", "auto", limits=Limits(), until=until
        ) as session,
        pytest.raises(Ended, match="late"),
    ):
        session.ask({"input": "", "seconds": 1}, until)


LOOP = "import threading\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()\n"


@needs_bubblewrap
def test_a_session_that_closes_leaves_no_process() -> None:
    session = start(LOOP, "auto", limits=Limits(), until=time.monotonic() + 60)
    with pytest.raises(Ended):
        session.ask({"input": "", "seconds": 60}, time.monotonic() + 0.5)
    pids = below(session.process.pid)
    assert len(pids) >= 4
    session.close()
    assert gone(pids)


@needs_bubblewrap
def test_a_sandbox_that_is_given_up_while_it_starts_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """bubblewrap is then two processes, of which the second does not know yet that it is to end with the first."""
    mark = f"given-up-{os.getpid()}"
    monkeypatch.setitem(sandbox.ENVIRONMENT, "STROP_MARK", mark)
    for place in range(40):
        with suppress(RewardError):
            start("pass", "auto", limits=Limits(), until=time.monotonic() + place / 4000).close()
    assert gone(marked(mark))


@needs_bubblewrap
def test_a_sandbox_ends_with_the_process_that_started_it() -> None:
    code = (
        "import time\nfrom strop.rewards.sandbox import *\n"
        f"s = start({LOOP!r}, 'auto', limits=Limits(), until=time.monotonic() + 60)\nprint('up', flush=True)\n"
        "s.ask({'input': '', 'seconds': 60}, time.monotonic() + 60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"up\n"
    time.sleep(0.3)
    pids = below(owner.pid) - {owner.pid}
    assert len(pids) >= 3
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert gone(pids)


@needs_bubblewrap
def test_a_sandbox_starts_below_the_limit_of_a_reward_worker() -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))

    code = "from tests.rewards.sandboxed import ran\nprint(ran('print(6*7)')['output'])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, preexec_fn=limited, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["42"], done.stderr


@needs_bubblewrap
def test_a_program_runs_as_any_python_program_does() -> None:
    program = (
        "import sys\nprint(input()[::-1], __name__, sys.argv, sys.stdin.read())\nprint('e', file=sys.stderr)\nexit(3)"
    )
    given = "h\u00e9llo \U0001f600\nrest"
    assert ran(program, given) == {
        "output": "\U0001f600 oll\u00e9h __main__ ['/tmp/program.py'] rest\n",
        "error": "e\n",
        "status": 3,
        "late": False,
    }


@needs_bubblewrap
def test_large_inputs_and_outputs_pass() -> None:
    given = "0123456789\n" * 400_000
    assert ran("import sys\nsys.stdout.write(sys.stdin.read())", given)["output"] == given


@needs_bubblewrap
def test_text_that_is_no_unicode_passes_or_fails_and_harms_nothing() -> None:
    assert ran("print('\ud800')")["status"] == 1
    assert ran("import sys\nprint(len(sys.stdin.buffer.read()))", "\ud800")["output"] == "3\n"
    assert ran("import os\nos.write(1, bytes([255, 254]))")["output"] == "\ufffd\ufffd"


@needs_bubblewrap
def test_the_installed_packages_are_there_and_the_same_program_does_the_same_twice() -> None:
    assert ran("import numpy\nprint(numpy.arange(3).sum())")["output"] == "3\n"
    assert ran("print({'a', 'b', 'c'}, hash('x'))") == ran("print({'a', 'b', 'c'}, hash('x'))")


@needs_bubblewrap
def test_each_input_meets_a_program_that_has_not_run() -> None:
    program = "import os, builtins\nprint(hasattr(builtins, 'mark'))\nbuiltins.mark = 1"
    until = time.monotonic() + 60
    with start(program, "auto", limits=Limits(), until=until) as session:
        answers = [session.ask({"input": "", "seconds": 20}, until)["output"] for _ in range(3)]
    assert answers == ["False\n"] * 3


@needs_bubblewrap
def test_a_program_that_takes_too_long_for_an_input_is_late_and_the_next_input_is_asked() -> None:
    until = time.monotonic() + 60
    with start(
        "import time\ntime.sleep(float(input()))\nprint('done')", "auto", limits=Limits(), until=until
    ) as session:
        assert session.ask({"input": "30", "seconds": 0.3}, until)["late"]
        assert session.ask({"input": "0", "seconds": 20}, until)["output"] == "done\n"


@needs_bubblewrap
def test_the_sandbox_says_what_it_is() -> None:
    require("auto")
    assert describe("auto").startswith("bubblewrap 0.")
    assert describe("unsafe").startswith("UNSAFE")


def fake(folder: Path, script: str) -> str:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    sandbox.bubblewrap.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    yield tmp_path
    sandbox.bubblewrap.cache_clear()


def test_without_bubblewrap_nothing_runs_and_the_error_is_the_command_that_installs_it(
    path: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    with pytest.raises(ConfigError, match="apt-get install bubblewrap") as caught:
        require("auto")
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="task.scoring.sandbox: unsafe"):
        ran(f"open({str(mark)!r}, 'w')")
    with pytest.raises(ConfigError, match=INSTALL):
        describe("auto")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo bubblewrap 0.6.1", "needs bubblewrap 0.8 or newer, and .* is 0.6.1"),
        ("exit 1", "is of no version"),
        (
            '[ $1 = --version ] && echo bubblewrap 0.8.0 || { echo "bwrap: No permissions" >&2; exit 1; }',
            "No permissions",
        ),
        ("[ $1 = --version ] && echo bubblewrap 0.9.0 || exit 0", "without a word"),
    ],
)
def test_a_bubblewrap_that_will_not_do_is_refused(script: str, says: str, path: Path) -> None:
    fake(path, script)
    with pytest.raises(ConfigError, match=says):
        require("auto")


def test_a_sandbox_that_does_not_start_is_an_error_and_no_verdict(path: Path) -> None:
    """Report B38."""
    fake(path, "[ $1 = --version ] && echo bubblewrap 0.8.0 || { echo 'bwrap: clone: no space' >&2; exit 1; }")
    with pytest.raises(RewardError, match="did not start: bwrap: clone: no space"):
        ran("print(1)")
    fake(path, "[ $1 = --version ] && echo bubblewrap 0.8.0 || exec /bin/sleep 30")
    with pytest.raises(RewardError, match="it took too long"):
        start("print(1)", "auto", limits=Limits(), until=time.monotonic() + 0.3)


@pytest.mark.parametrize(("what", "value"), [("machine", "riscv64"), ("release", "5.10.0-8-amd64")])
def test_a_machine_that_the_sandbox_does_not_know_is_refused(
    what: str, value: str, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    fake(path, "echo bubblewrap 0.8.0")
    monkeypatch.setattr(platform, what, lambda: value)
    with pytest.raises(ConfigError, match=value):
        require("auto")


def test_a_word_that_is_no_sandbox_runs_nothing() -> None:
    with pytest.raises(ConfigError, match="'none' is none"):
        ran("print(1)", kind="none")  # type: ignore[arg-type]


def test_unsafe_runs_a_program_under_limits_of_its_own_and_clears_up() -> None:
    require("unsafe")
    assert (
        ran("import os\nprint(os.path.exists('/etc/passwd'), os.environ.get('USER'))", kind="unsafe")["output"]
        == "True None\n"
    )
    assert "MemoryError" in ran("x = bytearray(2 << 30)", kind="unsafe")["error"]
    where = ran("import os\nprint(os.getcwd())", kind="unsafe")["output"].strip()
    assert "strop-" in where
    assert not os.path.exists(where)


def test_unsafe_ends_what_a_program_leaves() -> None:
    program = "import os, time\nprint(os.getpid(), flush=True)\nif os.fork() == 0:\n    time.sleep(60)"
    until = time.monotonic() + 60
    with start(program, "unsafe", limits=Limits(), until=until) as session:
        session.ask({"input": "", "seconds": 5}, until)
        pids = below(session.process.pid)
        left = {
            int(p.parent.name)
            for p in Path("/proc").glob("[0-9]*/stat")
            if os.getpgid(int(p.parent.name)) == session.process.pid
        }
    assert len(left | pids) >= 2
    assert gone(left | pids)
