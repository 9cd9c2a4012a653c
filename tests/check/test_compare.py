from __future__ import annotations

import math

import pytest
import torch

from strop.check.compare import BOUNDS, Errors, Line, difference, errors_of, gradient_error, metric_error, relative
from strop.check.oracle import Truth
from strop.metrics import High, Mean, Metric, Sum

RIGHT = {"a": torch.tensor([3.0, 4.0]), "b": torch.tensor([0.0, 1e-9])}


def test_the_error_of_a_tensor_is_relative_to_it_and_the_worst_is_named() -> None:
    found = {"a": torch.tensor([3.0, 4.5]), "b": RIGHT["b"]}
    assert gradient_error(found, RIGHT) == (pytest.approx(0.1), "a")


def test_a_tensor_that_is_nothing_beside_the_whole_is_measured_by_the_whole() -> None:
    """|all g*| is 5, so what is smaller than 5e-6 is measured by that."""
    found = {"a": RIGHT["a"], "b": torch.tensor([5e-7, 0.0])}
    error, name = gradient_error(found, RIGHT)
    assert name == "b"
    assert error == pytest.approx(0.1, rel=0.01)


def test_a_gradient_that_is_not_there_or_not_finite_is_infinitely_wrong() -> None:
    assert gradient_error({"a": RIGHT["a"]}, RIGHT) == (math.inf, "b")
    assert gradient_error({**RIGHT, "b": torch.tensor([math.nan, 0.0])}, RIGHT) == (math.inf, "b")


def test_no_gradient_at_all_is_right_only_where_none_is_due() -> None:
    none = {"a": torch.zeros(2)}
    assert gradient_error(none, none) == (0.0, "a")
    assert gradient_error({"a": torch.tensor([0.0, 1e-300])}, none)[0] in (0.0, math.inf)
    assert gradient_error({"a": torch.tensor([0.0, 1.0])}, none)[0] == math.inf
    assert relative(0.0, 0.0) == 0.0


def truth(**metrics: Metric) -> Truth:
    return Truth(RIGHT, metrics, scale=0.5)


def test_a_metric_is_measured_by_its_scale() -> None:
    right = truth(loss=Sum(0.0), prob=Mean(2.0, 10.0), most=High(3.0))
    assert metric_error({"loss": Sum(0.05)}, right) == (pytest.approx(0.1), "loss")
    assert metric_error({"prob": Mean(2.5, 10.0)}, right) == (pytest.approx(0.05), "prob")
    assert metric_error({"prob": Mean(2.0, 9.0)}, right) == (pytest.approx(0.1), "prob")
    assert metric_error({"most": High(3.3), "prob": Mean(2.0, 10.0)}, right) == (pytest.approx(0.1), "most")


def test_the_mean_of_nothing_is_right_if_nothing_was_due() -> None:
    assert difference(Mean(0.0, 0.0), Mean(0.0, 0.0), 1.0) == 0.0
    assert difference(Mean(1.0, 1.0), Mean(0.0, 0.0), 1.0) == math.inf


def test_a_metric_without_a_twin_cannot_be_right_and_padding_has_none() -> None:
    right = truth(loss=Sum(1.0))
    assert metric_error({"loss": Sum(1.0), "padding_share": Mean(1.0, 2.0)}, right) == (0.0, "")
    assert metric_error({"loss": Sum(1.0), "new": Mean(1.0, 2.0)}, right) == (math.inf, "new")


@pytest.mark.parametrize(("gradient", "metric", "ok"), [(1e-13, 1e-13, True), (1e-11, 0, False), (0, 1e-11, False)])
def test_a_line_holds_if_both_errors_are_within_its_bound(gradient: float, metric: float, ok: bool) -> None:
    line = Line("dapo", "all", "float64", 2, Errors(gradient, "w", metric, "loss"), BOUNDS["float64"])
    assert line.ok is ok
    assert line.record() == {
        "row": "dapo",
        "layout": "all",
        "dtype": "float64",
        "ranks": 2,
        "gradient_error": gradient,
        "worst_parameter": "w",
        "metric_error": metric,
        "ok": ok,
    }


def test_both_errors_of_a_run() -> None:
    found = errors_of(RIGHT, {"loss": Sum(1.5)}, truth(loss=Sum(1.0)))
    assert found == Errors(0.0, "a", pytest.approx(0.5), "loss")  # type: ignore[arg-type]
