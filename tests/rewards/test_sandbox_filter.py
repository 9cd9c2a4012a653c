"""The filter, run word by word as the kernel runs it, refuses what it says and lets the rest pass."""

from __future__ import annotations

import errno
import struct
from pathlib import Path

import pytest

from strop.rewards import sandbox_filter as given
from strop.rewards.sandbox_filter import ALLOW, CLONE, CLONE3, FAMILIES, KILL, LAST, MACHINES, REFUSED, SOCKET, seccomp

NAMES = list(MACHINES)
ONE_PROCESS = 17  # SIGCHLD, as fork asks for it
THREAD = 0x3D0F00  # as pthread_create asks for it


def verdict(machine: str, number: int, argument: int = 0, audit: int | None = None) -> int:
    """What the kernel does with a call: the filter read by its rules (linux/bpf_common.h), one word after another."""
    words = list(struct.iter_unpack("<HBBI", seccomp(machine)))
    data = {given.NUMBER: number, given.ARCHITECTURE: audit or MACHINES[machine].audit}
    data[given.FIRST_ARGUMENT] = argument & 0xFFFFFFFF
    held, place = 0, 0
    while True:
        code, yes, no, value = words[place]
        place += 1
        if code == given.RETURN:
            return value
        if code == given.LOAD:
            held = data[value]
            continue
        tests = {given.EQUAL: held == value, given.GREATER: held > value, given.HAS: bool(held & value)}
        place += yes if tests[code] else no


def refused(error: int) -> int:
    return 0x00050000 | error


@pytest.mark.parametrize("machine", NAMES)
def test_every_call_of_the_table_is_refused_and_no_other_but_by_its_argument(machine: str) -> None:
    column = MACHINES[machine].column
    table = {numbers[column] for numbers in REFUSED.values()}
    judged = {CLONE[column], CLONE3[column], SOCKET[column]}
    for number in range(LAST + 1):
        if number not in judged:
            assert verdict(machine, number) == (refused(errno.EPERM) if number in table else ALLOW), number


@pytest.mark.parametrize("machine", NAMES)
def test_a_thread_may_be_made_and_a_process_may_not(machine: str) -> None:
    clone = CLONE[MACHINES[machine].column]
    assert verdict(machine, clone, THREAD) == ALLOW
    for flags in (ONE_PROCESS, 0, 0x10000000 | ONE_PROCESS, 0x4000 | 0x100 | ONE_PROCESS):
        assert verdict(machine, clone, flags) == refused(errno.EPERM)
    assert verdict(machine, CLONE3[MACHINES[machine].column], THREAD) == refused(errno.ENOSYS)


@pytest.mark.parametrize("machine", NAMES)
@pytest.mark.parametrize("family", range(50))
def test_a_socket_is_of_a_family_that_the_network_namespace_holds(machine: str, family: int) -> None:
    expected = ALLOW if family in FAMILIES else refused(errno.EAFNOSUPPORT)
    assert verdict(machine, SOCKET[MACHINES[machine].column], family) == expected


@pytest.mark.parametrize("machine", NAMES)
def test_what_is_newer_than_the_table_is_unknown_and_other_numbers_kill(machine: str) -> None:
    assert verdict(machine, LAST + 1) == refused(errno.ENOSYS)
    assert verdict(machine, 0x40000000 + 59) == refused(errno.ENOSYS), "x32 has numbers of its own for the same calls"
    assert verdict(machine, 0, audit=0x40000003) == KILL, "a 64-bit program may call by the numbers of i386"


@pytest.mark.parametrize("machine", NAMES)
def test_the_filter_is_one_that_the_kernel_takes(machine: str) -> None:
    assert len(seccomp(machine)) % 8 == 0
    assert len(seccomp(machine)) // 8 <= 4096


HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "/usr/include/asm-generic/unistd.h"}


@pytest.mark.parametrize("machine", NAMES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    header = Path(HEADERS[machine])
    if not header.is_file():
        pytest.skip(f"NOTICE: {header} is not here; it comes with linux-libc-dev")
    words = [line.split() for line in header.read_text().splitlines() if line.startswith("#define __NR")]
    numbers = {w[1].replace("__NR3264_", "__NR_").removeprefix("__NR_"): w[2] for w in words if len(w) >= 3}
    column = MACHINES[machine].column
    for name, each in {**REFUSED, "clone": CLONE, "clone3": CLONE3, "socket": SOCKET}.items():
        assert numbers.get(name) == (None if each[column] is None else str(each[column])), name
