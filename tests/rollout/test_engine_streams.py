from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strop.rollout.engine_streams import uniforms

NAMES = st.tuples(
    st.integers(min_value=-(2**63), max_value=2**64), st.text(max_size=12), st.integers(0, 2**62), st.integers(0, 2**20)
)


@given(NAMES, st.integers(1, 40), st.integers(0, 40))
def test_a_stream_is_a_pure_function_of_its_name_and_a_longer_one_starts_with_it(name, tokens, more) -> None:
    short, long = uniforms(*name, tokens), uniforms(*name, tokens + more)
    assert short.shape == (tokens,)
    assert np.array_equal(short, long[:tokens])
    assert ((long >= 0) & (long < 1)).all()


@given(NAMES, NAMES)
def test_different_names_have_different_streams(left, right) -> None:
    same = np.array_equal(uniforms(*left, 4), uniforms(*right, 4))
    assert same == (left == right)


def test_no_two_names_run_together() -> None:
    assert not np.array_equal(uniforms(0, "a', 1", 2, 3, 4), uniforms(0, "a", 1, 2, 4))
    assert not np.array_equal(uniforms(1, "train", 11, 1, 4), uniforms(1, "train", 1, 11, 4))


def test_the_numbers_never_change() -> None:
    assert uniforms(0, "train", 0, 0, 3).tolist() == [0.22879694684227747, 0.5704537527109435, 0.6780686422886756]


def test_the_numbers_are_uniform() -> None:
    drawn = np.concatenate([uniforms(3, "train", draw, 0, 50) for draw in range(400)])
    counts = np.bincount((drawn * 20).astype(int), minlength=20)
    statistic = ((counts - 1000) ** 2 / 1000).sum()
    assert statistic < 54.0  # 99.99% point of chi-square with 19 degrees of freedom is 51.1
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.03
