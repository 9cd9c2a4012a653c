"""Every metric that has an alias is one that a run writes, and every alias is a name of the installed peer."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import strop
from strop.bridges.names_metrics import ALIASES, table
from tests.shape.source import ROOT

PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
REWARD = "def right(prompt, completion, **columns): return {'score': float('=' in completion), 'size': 1}"

COMPOSED = {
    "actor/loss": ('"loss"', 'rename_dict(actor_output, "actor/")'),
    "actor/grad_norm": ('"grad_norm"', 'rename_dict(actor_output, "actor/")'),
    "actor/lr": ('"lr"', 'rename_dict(actor_output, "actor/")'),
    "actor/kl_loss": ('"kl_loss"', 'rename_dict(actor_output, "actor/")'),
    "rollout_corr/rollout_is_mean": ('"rollout_is_mean"', 'f"rollout_corr/{key}"'),
    "timing_s/gen": ('marked_timer("gen"', 'f"timing_s/{name}"'),
    "timing_s/update_actor": ('marked_timer("update_actor"', 'f"timing_s/{name}"'),
    "timing_s/step": ('marked_timer("step"', 'f"timing_s/{name}"'),
    "val-core/NAME/mean@N": ('f"mean@{n_resps}"', '"val-core"'),
    "val-core/NAME/best@N/mean": ('f"best@{n}/mean"', '"val-core"'),
    "val-core/NAME/maj@N/mean": ('f"maj@{n}/mean"', '"val-core"'),
    "rewards/NAME/mean": ('f"rewards/{reward_func_name}/mean"',),
    "rewards/NAME/std": ('f"rewards/{reward_func_name}/std"',),
    "eval_reward": ('["reward"]', '"eval_{key}"'),
    "step": ('"step": self.state.global_step',),
}
"""Names that a peer puts together, and the pieces of its source that do it."""


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the metrics of a run that has several of everything."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "reward.py").write_text(REWARD)
    config: dict[str, Any] = {
        "task.reward": f"{folder}/reward.py:right",
        "rollout": {"prompts": 2, "completions": 4, "max_tokens": 24, "filter": "none"},
        "objective": {"regularizers": [{"kind": "kl", "beta": 0.01}], "correction": "token_truncate"},
        "train": {"steps": 2, "updates": 1},
        "eval": {"prompts": 2, "completions": 2, "every": 1},
        "runs": str(folder),
    }
    rows: list[dict[str, Any]] = []
    strop.train(config, on_step=rows.append)
    return {re.sub(r"^rewards/.+/(mean|std)$", r"rewards/NAME/\1", name) for row in rows for name in row}


def test_what_has_an_alias_is_what_a_run_writes(logged: set[str]) -> None:
    assert ALIASES.keys() <= logged


def test_the_page_lists_every_metric_that_a_run_writes_and_no_other(logged: set[str]) -> None:
    [listed] = re.findall(r"\| metric \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
    named = {name for row in listed.splitlines() for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])}
    assert named == logged


def test_the_page_shows_the_table() -> None:
    assert table() in PAGE


def source_of(package: str, *folders: str) -> str:
    spec = find_spec(package)
    assert spec and spec.origin
    home = Path(spec.origin).parent
    paths = [path for folder in folders for path in (home / folder).rglob("*.py")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def missing(names: list[str], source: str) -> list[str]:
    pieces = {name: COMPOSED.get(name, (f'"{name}"',)) for name in names if name}
    return [name for name, wanted in pieces.items() if not all(piece in source for piece in wanted)]


@pytest.mark.peer("trl")
def test_every_alias_of_trl_is_in_the_installed_trl() -> None:
    source = source_of("trl", "trainer") + source_of("transformers", ".").replace("'", '"')
    assert missing([alias.trl for alias in ALIASES.values()], source) == []
    assert missing(["completions/no_such"], source) == ["completions/no_such"]


@pytest.mark.peer("verl")
def test_every_alias_of_verl_is_in_the_installed_verl() -> None:
    source = source_of("verl", "trainer", "workers")
    assert missing([alias.verl for alias in ALIASES.values()], source) == []
    assert missing(["actor/no_such"], source) == ["actor/no_such"]
