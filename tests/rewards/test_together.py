"""Coroutines are awaited side by side, and what one raises stands in its place."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from strop.rewards.together import settled


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    if isinstance(value, BaseException):
        raise value
    return value


def test_what_is_not_to_be_awaited_comes_back_as_it_is() -> None:
    before = threading.active_count()
    assert settled([1.0, None, "x", [1]]) == [1.0, None, "x", [1]]
    assert threading.active_count() == before


def test_values_and_coroutines_keep_their_places() -> None:
    assert settled([later(1), 2, later(3), later(None)]) == [1, 2, 3, None]


def test_what_one_raises_is_the_others_no_matter() -> None:
    first, failed, exit_, cancelled, last = settled(
        [later(1), later(ValueError("x")), later(SystemExit(3)), later(asyncio.CancelledError()), later(2)]
    )
    assert (first, last) == (1, 2)
    assert [type(each) for each in (failed, exit_, cancelled)] == [ValueError, SystemExit, asyncio.CancelledError]


def test_one_that_takes_too_long_is_cancelled() -> None:
    seen = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("cancelled")

    late, quick = settled([slow(), later(1)], limit_s=0.05)
    assert isinstance(late, TimeoutError)
    assert (quick, seen) == (1, ["cancelled"])
