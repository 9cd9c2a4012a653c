from __future__ import annotations

import pytest

from strop.reference.regularizer import kl_token


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3", "unbiased"])
@pytest.mark.parametrize("logp", [-0.2, -1.0, -3.0, -24.0])
def test_the_slope_by_hand_is_the_slope_of_the_value(estimator: str, logp: float) -> None:
    step = 1e-6
    above, below = (kl_token(logp + at, -1.3, -1.1, estimator)[0] for at in (step, -step))
    assert kl_token(logp, -1.3, -1.1, estimator)[1] == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-6)
