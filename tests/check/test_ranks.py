"""Processes that end, fail or hang: one clear error, and nobody waits."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from strop.check.ranks import Ranks
from strop.check.worker import Rank
from strop.errors import StropError


def scripted() -> None:
    """Replaces what a rank does by what the task says."""
    Rank.join = classmethod(lambda cls, rank, size, folder, patience_s: cls(rank, {}))  # type: ignore[method-assign,assignment]
    Rank.answer = answer  # type: ignore[method-assign]


def answer(self: Rank, task: dict[str, Any]) -> dict[str, Any]:
    do = task["do"][self.rank]
    if do == "die":
        print("no memory left", flush=True)
        os._exit(9)
    if do == "hang":
        time.sleep(600)
    return {"failed": "Traceback ...\nValueError: no such layout"} if do == "fail" else {"rank": self.rank, "do": do}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """New processes for each kind of end, started side by side."""
    prepare = "tests.check.test_ranks:scripted"
    names = ("work", "die", "fail", "hang")
    made = {name: Ranks(tmp_path_factory.mktemp(name), 2, prepare=prepare) for name in names}
    for ranks in made.values():
        assert ranks.run({"do": ["hello", "hello"]}, 2) == [{"rank": 0, "do": "hello"}, {"rank": 1, "do": "hello"}]
    yield made
    for ranks in made.values():
        ranks.__exit__(None, None, None)


@pytest.mark.xdist_group("ranks")
def test_only_as_many_ranks_work_as_are_asked(started: dict[str, Ranks]) -> None:
    assert started["work"].run({"do": ["alone"]}, 1) == [{"rank": 0, "do": "alone"}]


@pytest.mark.xdist_group("ranks")
def test_a_rank_that_dies_is_named_with_its_last_words(started: dict[str, Ranks]) -> None:
    with pytest.raises(StropError, match=r"^rank 1 ended with exit code 9: no memory left$"):
        started["die"].run({"do": ["hang", "die"]}, 2)
    with pytest.raises(StropError, match="rank 1 ended with exit code 9"):
        started["die"].run({"do": ["hello", "hello"]}, 2)


@pytest.mark.xdist_group("ranks")
def test_a_rank_that_fails_says_why(started: dict[str, Ranks]) -> None:
    with pytest.raises(StropError, match=r"^rank 0 failed: ValueError: no such layout$"):
        started["fail"].run({"do": ["fail", "hang"]}, 2)


@pytest.mark.xdist_group("ranks")
def test_a_rank_that_does_not_answer_is_not_waited_for(started: dict[str, Ranks]) -> None:
    ranks = started["hang"]
    ranks.patience_s = 0.5
    with pytest.raises(StropError, match=r"^rank 1 of 2 did not answer within 0.5 s$"):
        ranks.run({"do": ["hello", "hang"]}, 2)
    ranks.__exit__(None, None, None)
    assert all(not process.is_alive() for process in ranks.processes)


def test_no_processes_are_started_for_none(tmp_path: Path) -> None:
    with Ranks(tmp_path, 0) as ranks:
        assert ranks.processes == []
