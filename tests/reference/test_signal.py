from __future__ import annotations

from strop.reference import has_signal


def test_the_range_decides_and_the_tolerance_is_exclusive() -> None:
    assert has_signal([0.0, 0.5, 1.0], [0, 0, 1], tolerance=0.5).tolist() == [False] * 3
    assert has_signal([0.0, 0.5, 1.0], [0, 0, 1], tolerance=0.4).tolist() == [True, True, False]
