from __future__ import annotations

from strop.bridges.names_data import SECTIONS
from strop.config.schema import LEAVES
from strop.objective.choices import KINDS

CHOICES = ("advantage", "regularizers", "correction")


def test_every_estimator_regularizer_and_correction_is_in_the_map_and_every_other_name_is_a_key() -> None:
    named = {line.ours for lines in SECTIONS.values() for line in lines if line.ours}
    kinds = {f"{choice}: {kind}" for choice in CHOICES for kind in KINDS[choice]}
    assert kinds <= named
    for name in named - kinds:
        choice, _, kind = name.partition(": ")
        assert name in LEAVES or kind in KINDS[choice], f"strop has no {name}"
