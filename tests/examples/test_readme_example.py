"""The files and the four commands of the README's own example, with the embedded model and a small step."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM

from strop.cli.main import run

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w*\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
SMALL = (
    "--model strop:tiny --rollout.prompts 2 --rollout.completions 4 --rollout.max_tokens 24 "
    "--rollout.overlong.buffer 8 --train.steps 1 --train.updates 1 --train.warmup_steps 0 "
    "--eval.prompts 2 --eval.completions 1 --eval.every 0"
)


def block(start: str) -> str:
    [found] = [text for text in BLOCKS if text.startswith(start)]
    return found


@pytest.mark.slow
def test_the_readmes_reward_is_tried_planned_trained_and_exported_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.yaml", "my_reward.py"):
        Path(name).write_text(block(f"# {name}"))
    sums = [{"prompt": f"{a}+{b}=".rjust(20, "."), "answer": f"#{(a + b) % 10}"} for a in range(6) for b in range(6)]
    Path("train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sums))
    trial, plan, train, export = map(shlex.split, block("strop reward test").splitlines())
    assert run(trial[1:]) == 0, capsys.readouterr().out
    small = SMALL.split()
    assert run([*plan[1:], *small, "--no-probe"]) == 0, capsys.readouterr().err
    assert run([*train[1:], *small, "--run", "NAME"]) == 0, capsys.readouterr().err
    assert run(export[1:]) == 0
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "my-model").num_parameters() > 0
