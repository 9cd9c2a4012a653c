"""Per-step losses of every row, recorded once: a refactor must reproduce them."""

from __future__ import annotations

import json

import pytest

from strop.algorithms import ROWS
from tests.golden.record import FILE, losses

RECORDED = json.loads(FILE.read_text())


def test_every_row_has_recorded_losses() -> None:
    assert set(RECORDED) == set(ROWS)


@pytest.mark.parametrize("name", list(ROWS))
def test_the_losses_of_a_row_are_those_that_were_recorded(name: str) -> None:
    for found, recorded in zip(losses(name), RECORDED[name], strict=True):
        assert found == pytest.approx(recorded, rel=1e-9, abs=1e-12)
