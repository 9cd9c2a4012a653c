"""Whatever has not the shape that a public function asks for is one line that names it, in strop and in its reference.

Never an IndexError, never a broadcast: an argument of any shape is right, or a ValueError.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import strop
from strop.algorithms import algorithm

B, T, K = 2, 3, 4
ROW = algorithm("dppo_tv", trust={"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": K}, length=9)

FULL, EACH, DEEP = (B, T), (B,), (B, T, K)
ARGUMENTS: dict[str, dict[str, tuple[tuple[int, ...], ...]]] = {
    "policy_loss": {
        **dict.fromkeys(("mask", "logp", "old_logp", "sampler_logp", "ref_logp", "masked_logp"), (FULL,)),
        **dict.fromkeys(("entropy", "weight"), (FULL,)),
        "advantage": (EACH, FULL),
        "group": (EACH,),
        **dict.fromkeys(("sampler_top_logp", "top_logp", "top_is_sampled"), (DEEP,)),
    },
    "token_weights": {"mask": (FULL,), "group": (EACH,)},
    "advantages": {"reward": (EACH,), "group": (EACH,)},
    "has_signal": {"score": (EACH,), "group": (EACH,)},
    "kl": {"logp": (FULL,), "ref_logp": (FULL,)},
}
"""Function -> argument -> the shapes that are right beside the others as they stand."""

CASES = [(function, name) for function, arguments in ARGUMENTS.items() for name in arguments]


def fits(function: str, name: str, shape: tuple[int, ...]) -> bool:
    """Whether the shape is right: K, and the width of a mask that stands alone, are free."""
    right = ARGUMENTS[function][name]
    if right == (DEEP,):
        return len(shape) == 3 and shape[:2] == FULL
    if (function, name) == ("token_weights", "mask"):
        return len(shape) == 2 and shape[0] == B
    return shape in right


def call(function: str, given: dict[str, Any], *, reference: bool) -> Any:
    home = strop.reference if reference else strop
    values = given if reference else {name: torch.tensor(value) for name, value in given.items()}
    row = (ROW,) if function == "policy_loss" else ()
    return getattr(home, function)(*row, **values)


@pytest.mark.parametrize("reference", [False, True], ids=["strop", "reference"])
@pytest.mark.parametrize(("function", "name"), CASES)
@given(shape=st.lists(st.integers(0, 4), max_size=4).map(tuple))
@example(shape=(B, 1))
@example(shape=(1, T))
@example(shape=(T, B))
@example(shape=(B * T,))
@example(shape=(B, T, 1))
def test_an_argument_of_another_shape_is_refused_by_name(
    function: str, name: str, reference: bool, shape: tuple[int, ...]
) -> None:
    """Where a mask is another's, the first argument that is not like it is named."""
    given = {other: np.zeros(right[0]) for other, right in ARGUMENTS[function].items()} | {name: np.zeros(shape)}
    if fits(function, name, shape):
        return
    with pytest.raises(ValueError, match=r"got \[") as caught:
        call(function, given, reference=reference)
    message = str(caught.value)
    assert "\n" not in message
    assert name in message and str([*shape]) in message or name == "mask" and re.match("group|logp|old_logp", message)


@pytest.mark.parametrize("reference", [False, True], ids=["strop", "reference"])
@pytest.mark.parametrize("function", list(ARGUMENTS))
def test_as_they_stand_these_arguments_are_right(function: str, reference: bool) -> None:
    given = {name: np.zeros(right[0]) for name, right in ARGUMENTS[function].items()}
    found = call(function, given, reference=reference)
    assert float(found.value if function == "policy_loss" else found.sum()) == 0.0


@pytest.mark.parametrize("home", [strop, strop.reference], ids=["strop", "reference"])
@pytest.mark.parametrize("function", [*ARGUMENTS, "soft_overlong"])
def test_what_a_function_refuses_stands_in_its_docstring(function: str, home: Any) -> None:
    text = inspect.getdoc(getattr(home, function)) or ""
    raises = re.search(r"^Raises:\n((?:    .*\n?)+)", text, re.MULTILINE)
    assert raises, f"{function} does not say what it raises"
    assert {"ConfigError", "ValueError"} <= set(re.findall(r"^    (\w+):", raises[1], re.MULTILINE))
