"""What a reward leaves running or changed is found; what it leaves idle is let be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rewards.test_limits import apart

START = "from strop.rewards.leftovers import Leftovers\nlimits.bound_memory(2048)\nleft = Leftovers(2048)\n"
"""The process asks as a worker does; its parent, the test's own process, has no other child."""


def found(code: str) -> str:
    """What is found after `code`, asked in a keeper's child as a worker is."""
    inner = "\n    ".join((START + code + "\nprint(left.found(), flush=True)\nos._exit(0)").splitlines())
    done = apart(f"limits.adopt_orphans()\nif not os.fork():\n    {inner}\nos.waitpid(-1, 0)\nlimits.end_strays()")
    assert not done.stderr, done.stderr
    return done.stdout.strip()


QUIET = {
    "nothing": "pass",
    "idle threads": "leaves_sleeping_threads()",
    "an idle child": "child(lambda: time.sleep(60)); time.sleep(0.1)",
    "a little memory": "kept = bytearray(2**20)",
    "a new name in builtins": "import builtins; builtins.mine = 1",
    "an import": "import decimal, sqlite3, asyncio",
}


@pytest.mark.parametrize("code", QUIET.values(), ids=QUIET)
def test_what_is_idle_or_added_is_let_be(code: str) -> None:
    assert found(code) == ""


LEFT = {
    "a spinning thread": ("leaves_a_spinning_thread()", "a reward left something running"),
    "a spinning child": ("leaves_a_spinning_child(); time.sleep(0.3)", "a reward left something running"),
    "a spinning daemon": ("leaves_a_spinning_daemon(); time.sleep(0.3)", "a reward left something running"),
    "memory": ("kept = bytearray(2**30 + 2**20)", "its memory grew"),
    "a builtin": ("import builtins; builtins.len = lambda _: 0", "a reward replaced a part of Python"),
    "a clock": ("time.time = lambda: 0", "a reward replaced a part of Python"),
    "a lost name": ("import json; del json.loads", "a reward replaced a part of Python"),
    "priority": ("os.nice(3)", "a reward changed its own priority"),
}


@pytest.mark.parametrize("code, reason", LEFT.values(), ids=LEFT)
def test_what_would_slow_starve_or_mislead_the_next_is_found(code: str, reason: str) -> None:
    assert found(code) == reason


def test_what_was_idle_is_not_watched_again_at_once() -> None:
    code = "child(lambda: time.sleep(60)); time.sleep(0.1); left.found(); start = time.monotonic()\n"
    code += "for _ in range(20): left.found()\nassert time.monotonic() - start < 0.2"
    assert found(code) == ""


def test_a_replaced_builtin_is_noticed_call_by_call() -> None:
    import builtins

    from strop.rewards.leftovers import Leftovers

    left = Leftovers(64)
    assert not left.misled()
    real: Any = builtins.len
    try:
        builtins.len = lambda _: 0  # type: ignore[assignment]
        assert left.misled()
        assert left.changed()
    finally:
        builtins.len = real
    assert not left.misled()
