from __future__ import annotations

from strop.bridges.names_loss import SECTIONS
from strop.objective.choices import KINDS


def test_every_kind_of_mean_ratio_and_trust_region_is_in_the_map_and_nothing_else_is() -> None:
    named = {line.ours for lines in SECTIONS.values() for line in lines if line.ours}
    assert named == {f"{choice}: {kind}" for choice in ("aggregation", "ratio", "trust") for kind in KINDS[choice]}


def test_a_line_says_what_it_is_and_who_has_it() -> None:
    for lines in SECTIONS.values():
        for line in lines:
            assert line.meaning
            assert any(
                (line.trl, line.verl, line.openrlhf, line.nemo, line.skyrl, line.slime, line.prime_rl, line.tinker)
            )
