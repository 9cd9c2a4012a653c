from __future__ import annotations

import os

import pytest

from strop.plan.program import measured, resident

MIB = 2**20


@pytest.mark.slow
def test_the_program_is_measured_by_starting_it_and_a_scoring_process_is_light() -> None:
    found = measured("strop:tiny", 0)
    assert 150 * MIB < found.run < 1500 * MIB
    assert found.worker < found.run / 4


def test_what_is_resident_grows_with_what_is_touched_and_the_largest_stays() -> None:
    before, block = resident(), bytearray(os.urandom(1)) * (64 * MIB)
    assert resident() - before > 60 * MIB
    largest = resident("VmHWM")
    assert block and largest >= before + 60 * MIB
