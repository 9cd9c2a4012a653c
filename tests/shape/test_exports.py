"""The public surface: which names there are, and what they take."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import strop
from tests.shape.source import ROOT, tree

SIGNATURES = {
    "algorithm": ["name", "advantage", "ratio", "trust", "correction", "aggregation", "regularizers", "length"],
    "token_weights": ["mask", "group", "aggregation", "length"],
    "advantages": ["reward", "group", "kind"],
    "policy_loss": [
        *("row", "logp", "old_logp", "advantage", "mask", "group", "weight"),
        *("ref_logp", "sampler_logp", "masked_logp", "entropy"),
        *("sampler_top_logp", "top_logp", "top_is_sampled"),
    ],
    "soft_overlong": ["length", "max_tokens", "buffer", "penalty"],
    "has_signal": ["score", "group", "tolerance"],
    "kl": ["logp", "ref_logp", "estimator"],
    "train": ["config", "reward", "on_step", "on_rollouts"],
}
TWINS = ("token_weights", "advantages", "policy_loss", "soft_overlong", "has_signal", "kl")


def test_all_names_what_the_package_gives_and_nothing_else() -> None:
    given = [
        alias.asname or alias.name
        for node in ast.walk(tree("strop/__init__.py"))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for line in node.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    ]
    assert sorted(given) == sorted(strop.__all__)
    assert set(SIGNATURES) | {"reference"} <= set(strop.__all__)


@pytest.mark.parametrize("name", strop.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(strop, name) is not None
    assert name in dir(strop)


def test_no_other_name_is_public() -> None:
    code = "import strop; print(*(name for name in vars(strop) if not name.startswith('_')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"annotations", "importlib", "TYPE_CHECKING", "Any", *strop.__all__}
    with pytest.raises(AttributeError, match="no attribute 'algorithms_'"):
        _ = strop.algorithms_


@pytest.mark.parametrize(("name", "parameters"), SIGNATURES.items())
def test_a_public_function_takes_exactly_these_arguments(name: str, parameters: list[str]) -> None:
    assert sorted(inspect.signature(getattr(strop, name)).parameters) == sorted(parameters)


@pytest.mark.parametrize("name", ["algorithm", *TWINS])
def test_a_public_function_says_what_it_raises(name: str) -> None:
    text = inspect.getdoc(getattr(strop, name)) or ""
    assert "\nRaises:\n    " in text
    assert "ConfigError: " in text


@pytest.mark.parametrize("name", TWINS)
def test_the_reference_has_the_same_names_and_arguments(name: str) -> None:
    ours, twin = getattr(strop, name), getattr(strop.reference, name)
    assert sorted(inspect.signature(twin).parameters) == sorted(inspect.signature(ours).parameters)
