"""The python of the README and of docs/engines.md runs as it stands, with the names that it says it needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import strop
from strop.config.load import load
from strop.types import Prompt
from tests.learner import tiny_llama

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str = "python") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def execute(block: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(block, "page", "exec"), names)  # noqa: S102
    return names


def test_the_readmes_own_loop_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    logp = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    names = execute(
        blocks("README.md")[1],
        {
            "reward": torch.tensor([1.0, 0.0, 1.0, 0.0]),
            "group": torch.tensor([0, 0, 1, 1]),
            "mask": torch.ones(4, 3, dtype=torch.bool),
            "logp": logp,
            "old": logp.detach(),
        },
    )
    assert names["run"].summary["steps"] == 3
    assert logp.grad is not None
    assert logp.grad.abs().sum() > 0


def test_the_readmes_reward_and_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    score = execute(blocks("README.md")[0], {})["score"]
    assert score("2+2=", " it is 4\n", answer="4") == 1.0
    [text] = blocks("README.md", "yaml")
    (tmp_path / "my_reward.py").write_text(blocks("README.md")[0])
    (tmp_path / "train.jsonl").write_text('{"prompt": "2+2=", "answer": "4"}\n')
    (tmp_path / "mine.yaml").write_text(text)
    config = load([tmp_path / "mine.yaml"])
    assert config.rollout.overlong.buffer == 512
    assert config.train.learning_rate == 1e-6
    assert config.rollout.prompts == yaml.safe_load(text)["rollout"]["prompts"]


def test_the_page_of_engines() -> None:
    from strop.assets.tiny.make import make_tokenizer
    from strop.rollout.engine import Request, Sampling
    from strop.rollout.engine_scripted import ScriptedEngine

    tokenizer = make_tokenizer()
    names: dict[str, Any] = {
        "module": tiny_llama(dtype=torch.float32),
        "tokenizer": tokenizer,
        "engine": ScriptedEngine(lambda prompt_ids, draw, completion: "4"),
        "version": 1,
        "requests": [Request(draw=0, prompt_ids=(5,), completions=2)],
        "sampling": Sampling(max_tokens=4),
        "progress": None,
        "prompt": Prompt("p", "4+7="),
    }
    for block in blocks("docs/engines.md"):
        execute(block, names)


def test_the_example_from_python_is_a_run_of_at_most_15_lines() -> None:
    text = (ROOT / "examples" / "train_from_python.py").read_text()
    code = [line for line in text.split('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 15
    compile(text, "example", "exec")
    assert set(strop.__all__) >= set(re.findall(r"strop\.(\w+)", text))
