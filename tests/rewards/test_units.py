"""Units are known by many names and turned into one another exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards.units import UNITS, unit_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cm", "centimeters"),
        ("km/h", "kilometers per hour"),
        ("mph", "miles per hour"),
        ("m^2", "square meters"),
        ("m ^ 2", "sq metres"),
        ("cubic cm", "ml"),
        ("m / s ^ 2", "meters/second^2"),
        ("dollars", "USD"),
        ("degrees C", "celsius"),
        ("a.m.", "am"),
    ],
)
def test_two_names_of_one_unit_are_one(one: str, other: str) -> None:
    assert unit_of(one) is not None
    assert unit_of(one) == unit_of(other)


@pytest.mark.parametrize("text", ["apples", "", "/", "^2", "degrees", "pounds", "cm apples", "cm+m", "m" + "*m" * 9])
def test_what_is_no_unit_of_measure_is_none(text: str) -> None:
    assert unit_of(text) is None


@given(name=st.sampled_from(sorted(UNITS)), power=st.integers(1, 3))
def test_a_power_of_a_unit_has_the_power_of_its_size(name: str, power: int) -> None:
    unit, raised = UNITS[name], unit_of(f"{name}^{power}")
    assert raised is not None
    assert raised.size == unit.size**power
    ((dimension, base),) = unit.dimensions
    assert raised.dimensions == ((dimension, base * power),)


@given(name=st.sampled_from(sorted(name for name in UNITS if name.isalpha())))
def test_a_unit_per_itself_has_no_dimension(name: str) -> None:
    ratio = unit_of(f"{name}/{name}")
    assert ratio is not None
    assert (ratio.dimensions, ratio.size) == ((), Fraction(1))


def test_sizes_are_what_they_are_by_definition() -> None:
    assert UNITS["mile" if "mile" in UNITS else "mi"].size == Fraction("1609.344")
    assert UNITS["inch"].size == Fraction("0.0254")
    assert UNITS["lb"].size == Fraction("453.59237")
    assert UNITS["cent"].size == Fraction(1, 100)
