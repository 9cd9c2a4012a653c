"""Checkpoints: whole or absent, listed with hashes, opened by transformers, kept to a number."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from strop.assets.tiny.make import make_tokenizer
from strop.errors import DoesNotFit
from strop.policy.model import write
from strop.run.checkpoint import retain, save
from tests.learner import tiny_llama

MOMENTS = {"0.exp_avg": torch.ones(3)}


def write_tiny(folder: Path) -> None:
    write(tiny_llama(dtype=torch.float32), make_tokenizer(), folder)


def test_a_checkpoint_opens_with_from_pretrained_and_its_manifest_lists_every_file(tmp_path: Path) -> None:
    path = save(tmp_path, 40, write_parts=write_tiny, optimizer=MOMENTS, state={"cursor": 7})
    assert path.name == "step-000040"
    loaded = AutoModelForCausalLM.from_pretrained(path)
    ids = torch.tensor([[1, 4, 5]])
    assert torch.equal(loaded(input_ids=ids).logits, tiny_llama(dtype=torch.float32)(input_ids=ids).logits)
    assert AutoTokenizer.from_pretrained(path)("4+7")["input_ids"][0] == 1
    manifest = json.loads((path / "MANIFEST.json").read_text())
    assert {item["name"] for item in manifest["files"]} == {p.name for p in path.iterdir()} - {"MANIFEST.json"}
    for item in manifest["files"]:
        assert item["sha256"] == hashlib.sha256((path / item["name"]).read_bytes()).hexdigest()
    assert json.loads((path / "state.json").read_text()) == {"format": 1, "step": 40, "cursor": 7}
    assert torch.equal(load_file(path / "optimizer.safetensors")["0.exp_avg"], torch.ones(3))


def test_a_write_that_fails_leaves_nothing_behind_and_says_how_much_is_free(tmp_path: Path) -> None:
    def full(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError(28, "No space left on device")

    with pytest.raises(DoesNotFit, match="No space left.*MiB are free"):
        save(tmp_path, 1, write_parts=full, optimizer=MOMENTS, state={})
    assert list(tmp_path.iterdir()) == []


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    for step in (2, 10, 4):
        save(tmp_path, step, write_parts=lambda folder: None, optimizer=MOMENTS, state={})
    retain(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000004", "step-000010"]
