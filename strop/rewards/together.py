"""Coroutines awaited side by side on one event loop, which a process keeps on a thread of its own.

So a client that a reward keeps open stays usable from call to call, and a notebook, whose own loop is running, can
train.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

FAILURES = (Exception, SystemExit, asyncio.CancelledError)
"""What a reward may raise without ending more than its own call."""
NUMBERS = (float, int, bool)


def settled(values: Sequence[Any], limit_s: float = 0.0) -> list[Any]:
    """The values, those to be awaited awaited side by side; what one raises stands in its place.

    One that is not there after `limit_s` seconds is cancelled and becomes a TimeoutError, if `limit_s` is not 0.
    """
    if all(type(value) in NUMBERS or not inspect.isawaitable(value) for value in values):
        return list(values)

    async def settle(value: Any) -> Any:
        if not inspect.isawaitable(value):
            return value
        try:
            return await asyncio.wait_for(value, limit_s or None)
        except FAILURES as error:
            return error

    async def together() -> list[Any]:
        return await asyncio.gather(*map(settle, values))

    return asyncio.run_coroutine_threadsafe(together(), event_loop()).result()


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="strop rewards", daemon=True).start()
    return loop
