"""The front door: what `import strop` offers, and that it costs nothing until used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import strop


def test_importing_strop_loads_no_torch_and_no_numpy() -> None:
    code = "import strop, sys; print([name for name in ('torch', 'numpy', 'transformers') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_every_public_name_is_there_and_listed() -> None:
    for name in strop.__all__:
        assert getattr(strop, name) is not None
    assert set(strop.__all__) <= set(dir(strop))


def test_the_reference_has_the_names_of_the_formulas() -> None:
    same = {"advantages", "has_signal", "kl", "policy_loss", "soft_overlong", "token_weights"}
    assert same == set(strop.reference.__all__) and same <= set(strop.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'strop' has no attribute 'grpo'"):
        _ = strop.grpo  # type: ignore[attr-defined]
