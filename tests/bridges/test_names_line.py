from __future__ import annotations

import pytest

from strop.bridges.names_line import names


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("", []),
        ("a_b", [("a_b", "")]),
        ("loss_type=dapo, --eps-clip", [("loss_type=dapo", ""), ("--eps-clip", "")]),
        ("cispo (two-sided, 1 +- c), other", [("cispo", "two-sided, 1 +- c"), ("other", "")]),
        ("--actor.type gspo (x)", [("--actor.type gspo", "x")]),
    ],
)
def test_a_cell_is_names_between_commas_with_remarks_in_brackets(cell: str, found: list[tuple[str, str]]) -> None:
    assert names(cell) == found
