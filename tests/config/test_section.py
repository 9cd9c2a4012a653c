"""A section takes its keys, of their types, and nothing else."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from strop.config.section import Section, Whole, setting


class Made(Section):
    number: Whole = setting(1, "A whole number.", gt=0)
    names: list[str] = setting(list, "Names.")


def test_a_whole_number_in_exponent_form_is_one_and_a_half_is_none() -> None:
    assert Made.model_validate({"number": 1e3}).number == 1000
    for wrong in (8.5, "8", True, 0):
        with pytest.raises(ValidationError):
            Made.model_validate({"number": wrong})


def test_a_section_takes_no_other_key_and_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Made.model_validate({"numbr": 1})
    with pytest.raises(ValidationError, match="frozen"):
        Made().number = 2  # type: ignore[misc]


def test_a_default_that_is_made_is_made_anew() -> None:
    first, second = Made(), Made()
    first.names.append("a")
    assert second.names == []
