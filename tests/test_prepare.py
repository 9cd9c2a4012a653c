"""Before the first step: a reference only where a row reads it, prompts that fit, a folder that says what was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import strop
from strop.assets.tiny.make import make_tokenizer
from strop.config.load import load
from strop.errors import DataError, NumericsError
from strop.policy.lora import trained
from strop.policy.step import Learner
from strop.prepare import check_prompts, make_folder, make_learner
from strop.rollout.encode import Encoder
from strop.watch import Watcher
from tests.tasks.fakes import file_task


@pytest.mark.parametrize(("algorithm", "has_reference"), [("dapo", False), ("grpo", True)])
def test_a_reference_is_loaded_only_where_the_row_reads_one(algorithm: str, has_reference: bool) -> None:
    learner = make_learner(load(mapping={"algorithm": algorithm, "train": {"warmup_steps": 3, "updates": 2}}))
    assert (learner.reference is not None) == has_reference
    assert learner.optimizer.settings.warmup_updates == 6
    if learner.reference is not None:
        assert not any(parameter.requires_grad for parameter in learner.reference.module.parameters())


def test_the_reference_of_adapters_is_their_own_module_with_them_off_and_nothing_else_has_moments() -> None:
    learner = make_learner(load(mapping={"algorithm": "grpo", "train": {"lora": {"rank": 2}}}))
    assert learner.reference is not None and learner.reference.bare and not learner.policy.bare
    assert learner.reference.module is learner.policy.module
    assert len(learner.optimizer.masters) == len(trained(learner.policy.module)) == 42


def test_a_prompt_over_the_limit_is_named_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text("".join(json.dumps({"prompt": "1+" * (50 if i == 7 else i) + "1="}) + "\n" for i in range(12)))
    task = file_task(file)
    encode = Encoder(make_tokenizer(), max_prompt_tokens=60)
    with pytest.raises(DataError, match=r"d\.jsonl:8 has 103 tokens, over the limit of 60"):
        check_prompts(task, encode, Watcher())


def test_the_folder_says_where_a_reward_from_python_came_from(tmp_path: Path) -> None:
    folder = make_folder(load(mapping={"runs": str(tmp_path), "run": "r"}), task="sums", reward="mine")
    assert json.loads((folder.path / "provenance.json").read_text())["task.reward"] == "python function mine"
    assert {path.name for path in folder.path.iterdir() if path.is_file()} == {
        "config.yaml",
        "provenance.json",
        "environment.json",
    }


def test_an_error_between_updates_is_told_by_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three updates in: one step of two, and one of the next, whose weights the checkpoint of step 1 holds."""
    whole_update, done = Learner.update, []

    def fails_at_the_fourth(self: Learner, *args: Any) -> Any:
        done.append(1)
        if len(done) == 4:
            raise NumericsError("the loss is nan")
        return whole_update(self, *args)

    monkeypatch.setattr(Learner, "update", fails_at_the_fourth)
    small = {"rollout": {"prompts": 4}, "train": {"steps": 3, "updates": 2}, "eval": {"prompts": 4, "completions": 1}}
    with pytest.raises(NumericsError):
        strop.train({**small, "runs": str(tmp_path), "run": "r"})
    state = json.loads((tmp_path / "r" / "checkpoints" / "step-000001" / "state.json").read_text())
    assert (state["step"], state["update"], state["updates_beyond_step"]) == (1, 3, 1)
