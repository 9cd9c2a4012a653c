"""A reward that fails is told of with what to do about it, and no more."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from strop.rewards.adapters import Question, Written, values_of
from strop.rewards.failures import failed, too_long
from strop.rewards.find import find_reward
from tests.rewards.made import ask, the_error


def test_an_async_call_that_is_given_up_is_late_and_a_time_out_of_its_own_is_an_error() -> None:
    assert failed("f", "'p1'", TimeoutError(), 2.0).error == too_long("f", "'p1'", 2.0)
    assert "f raised TimeoutError: no answer (prompt 'p1')" in failed("f", "'p1'", TimeoutError("no answer"), 2.0).error


def test_a_built_in_that_raises_gives_no_advice_on_how_to_write_rewards() -> None:
    values = values_of(find_reward("boxed"), Question("", {"answer": True}, "'p1'"), [Written("4")])
    assert the_error(values).startswith("reward boxed raised DataError: the right answer is a bool")
    assert "a reward must return" not in the_error(values)


HELD_BY = "task.scoring.memory_mb bounds it"


@pytest.mark.parametrize(
    "fault, advice",
    [
        ("raise MemoryError", f"{HELD_BY}; import it at the top of the reward's file"),
        (
            "raise ImportError('libx.so: failed to map segment from shared object')",
            f"{HELD_BY}; import it at the top of the reward's file",
        ),
        (
            "raise ImportError('no such')",
            "a reward must return a number for every completion, whatever the model wrote",
        ),
    ],
)
def test_an_import_that_runs_out_of_memory_in_a_call_is_told_what_bounds_it(
    fault: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "takes_memory.py").write_text(fault)
    monkeypatch.syspath_prepend(tmp_path)

    def score(completion: str) -> float:
        return float(bool(import_module("takes_memory")))

    assert the_error(ask(score)).endswith(f"(prompt 'p1'); {advice}")


def test_memory_that_runs_out_elsewhere_is_told_what_bounds_it() -> None:
    def score(completion: str) -> float:
        raise MemoryError("x" * 1000)

    error = the_error(ask(score))
    assert error.endswith(f"; {HELD_BY}")
    assert len(error) <= 500
