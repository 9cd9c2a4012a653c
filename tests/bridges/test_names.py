"""The page is the table, and every name that it gives to TRL or verl is one of the installed package."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

from strop.bridges.keys_trl import DEFAULTS as TRL_KEYS
from strop.bridges.keys_verl import DEFAULTS as VERL_KEYS
from strop.bridges.keys_verl import NO_DEFAULT, SECTIONS
from strop.bridges.names import LINES, READ, page
from strop.bridges.names_line import names
from tests.shape.source import ROOT


def said(peer: str) -> list[str]:
    return [name for line in LINES for name, _ in names(getattr(line, peer))]


def test_the_page_is_written_from_the_code() -> None:
    assert (ROOT / "docs" / "names.md").read_text(encoding="utf-8") == page()


def test_the_page_shows_every_line_with_every_name() -> None:
    text = page()
    for line in LINES:
        assert f"| {line.meaning} |" in text
        for key in ("trl", "verl", *READ):
            assert all(name in text for name, _ in names(getattr(line, key)))


def test_every_setting_that_the_translator_reads_for_the_loss_is_in_the_map() -> None:
    keys = {name.partition("=")[0] for name in said("trl")}
    batch = {"num_generations", "num_iterations", "max_completion_length", "mask_truncated_completions"}
    loss = {"loss_type", "epsilon", "epsilon_high", "delta", "beta", "scale_rewards", "importance_sampling_level"}
    assert batch | loss <= keys
    assert keys - {"RLOOTrainer", "experimental.gmpo", "rewards.get_soft_overlong_punishment"} <= TRL_KEYS.keys()


@pytest.mark.peer("trl")
def test_every_name_of_trl_is_in_the_installed_trl() -> None:
    import trl
    from trl.trainer import grpo_trainer

    source = inspect.getsource(grpo_trainer) + inspect.getsource(trl.GRPOConfig)
    for name in said("trl"):
        key, _, value = name.partition("=")
        if key in TRL_KEYS:
            assert f'"{value}"' in source or f"'{value}'" in source or not value, name
            continue
        module, _, attribute = f"trl.{key}".rpartition(".")
        found = importlib.import_module(module)
        assert hasattr(found, attribute) or importlib.import_module(f"trl.{key}"), name


@pytest.mark.peer("verl")
def test_every_name_of_verl_is_in_the_installed_verl() -> None:
    from verl.trainer.ppo import core_algos, rollout_corr_helper

    keys = {*VERL_KEYS, *NO_DEFAULT, *(f"{section}.{name}" for section, names in SECTIONS.items() for name in names)}
    values: dict[str, Any] = {
        "loss_mode": core_algos.POLICY_LOSS_REGISTRY,
        "adv_estimator": core_algos.ADV_ESTIMATOR_REGISTRY,
        "loss_agg_mode": inspect.getsource(core_algos.agg_loss),
        "rollout_correction.loss_type": inspect.getsource(core_algos.compute_policy_loss_bypass_mode),
        "rollout_is": inspect.getsource(rollout_corr_helper),
    }
    for name in said("verl"):
        key, _, value = name.partition("=")
        assert any(f".{known}.".endswith(f".{key}.") or f".{key}." in f".{known}." for known in keys), name
        assert not value or value in values[key], name


def test_the_pages_of_the_mean_and_the_map_know_each_other() -> None:
    which = Path(ROOT / "docs" / "which-mean.md").read_text(encoding="utf-8")
    assert "(names.md)" in which
    assert "(which-mean.md)" in page()
