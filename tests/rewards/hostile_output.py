"""Rewards that take all memory, print without end, or write where they must not."""

from __future__ import annotations

import itertools
import json
import mmap
import os
import sys
import zlib
from collections.abc import Callable
from typing import Any

from tests.rewards.hostile_kinds import child, each, hostile, kept, spin

MEMORY = {
    "text": lambda: "x" * 10**11,
    "bytes": lambda: bytearray(10**11),
    "list": lambda: [0] * 10**10,
    "append": lambda: _grown(lambda: bytearray(2**24)),
    "dict": lambda: {number: bytearray(2**16) for number in itertools.count()},
    "shift": lambda: 1 << 10**12,
    "map": lambda: mmap.mmap(-1, 2**37).write(b"x"),
    "product": lambda: list(itertools.product(range(10), repeat=12)),
    "zip_bomb": lambda: zlib.decompress(zlib.compress(bytes(2**28)) + b"") * 64,
    "json": lambda: json.loads("[" + "0," * 3 * 10**8 + "0]"),
    "child": lambda: os.waitpid(child(lambda: _grown(lambda: bytearray(2**24))), 0)[1] and _grown(spin),
}
each("memory", MEMORY, lambda memory: len(memory()))


def _grown(piece: Callable[[], Any]) -> list[Any]:
    return [piece() for _ in itertools.count()]


@kept
def prints_a_lot() -> Any:
    for _ in range(400):
        print("x" * 10_000)
    return 1.0


@kept
def writes_a_lot_to_both() -> Any:
    for _ in range(400):
        os.write(1, b"y" * 10_000)
        os.write(2, b"\x1b[2J\x1b]0;z\x07" * 1_000)
    return 1.0


@hostile
def prints_for_ever() -> Any:
    while True:
        print("x" * 10_000)


@hostile
def writes_for_ever() -> Any:
    while True:
        os.write(2, b"x" * 100_000)


@kept
def prints_like_an_answer() -> Any:
    print('[[1,0,[[9.0,null,{},"",""]]]]', flush=True)
    sys.stderr.write('{"ready": []}\n{"ended": 0}\n')
    return 1.0


@hostile
def closes_every_descriptor() -> Any:
    os.closerange(0, 4096)
    return 1.0


@hostile
def writes_nonsense_to_every_descriptor() -> Any:
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"nonsense\n")
        except OSError:  # noqa: S112
            continue
    return 1.0


@hostile
def floods_every_socket() -> Any:
    while True:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"x" * 65_536)
            except OSError:  # noqa: S112
                continue


@hostile
def points_every_descriptor_at_nothing() -> Any:
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(64):
        os.dup2(nothing, descriptor)
    return 1.0


@hostile
def recursion() -> Any:
    return recursion()


@hostile
def recursion_without_limit() -> Any:
    sys.setrecursionlimit(2**30)
    return [recursion()]


@hostile
def depth_in_c() -> Any:
    sys.setrecursionlimit(2**30)
    value: list[Any] = []
    for _ in range(10**6):
        value = [value]
    return len(repr(value))


@hostile
def deep_text() -> Any:
    return json.loads("[" * 10**6)
