"""One set of word problems in three forms: the same prompts, the same ids of tokens, the same rewards."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from strop.config.schema import Task as Settings
from strop.rollout.encode import Encoder
from strop.tasks.find import find_task
from strop.tasks.task import Task
from strop.types import Completion, Prompt
from tests.rollout.conftest import chat
from tests.shape.source import ROOT

__all__ = ["chat"]

EXAMPLES = ROOT / "examples" / "data"
ROWS = 200
FORMS: dict[str, dict[str, Any]] = {
    "verl": {"file": "verl.parquet"},
    "trl": {"file": "trl"},
    "jsonl": {"file": "input_label.jsonl"},
}
TRL = f"{EXAMPLES}/trl_reward.py:accuracy_reward"
VERL = f"{EXAMPLES}/verl_reward.py:compute_score"
COLUMNS = {
    ("verl", TRL): {"solution": "reward_model.ground_truth"},
    ("jsonl", TRL): {"prompt": "input", "solution": "label"},
    ("jsonl", VERL): {"prompt": "input", "answer": "label"},
}
"""Where a form has other names than the reward asks for."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    subprocess.run([sys.executable, str(EXAMPLES / "make.py"), str(path)], check=True, cwd=ROOT)
    return path


@pytest.fixture(scope="module", params=[TRL, VERL], ids=["TRL's reward", "verl's reward"])
def tasks(request: pytest.FixtureRequest, folder: Path) -> Iterator[dict[str, Task]]:
    """The task of each form, scored by one reward."""
    found = {}
    for form, how in FORMS.items():
        columns = COLUMNS.get((form, request.param), {})
        given = {"file": str(folder / how["file"]), "data": {"columns": columns}, "reward": request.param}
        found[form] = find_task(Settings.model_validate(given), seed=3)
    yield found
    for task in found.values():
        task.close()


def everything(task: Task) -> list[Prompt]:
    return [*map(task.prompt, range(ROWS)), *task.held_out(ROWS)]


def test_the_prompts_are_the_same_bytes_in_the_same_order(tasks: dict[str, Task]) -> None:
    texts = {form: [json.dumps(prompt.content) for prompt in everything(task)] for form, task in tasks.items()}
    assert texts["verl"] == texts["trl"] == texts["jsonl"]
    assert len(set(texts["verl"])) == ROWS
    assert {len(task.known()) for task in tasks.values()} == {ROWS}


def test_the_ids_of_tokens_are_the_same(tasks: dict[str, Task], chat: Callable[..., Any]) -> None:
    encode = Encoder(chat(), max_prompt_tokens=1000)
    ids = {form: list(map(encode, everything(task))) for form, task in tasks.items()}
    assert ids["verl"] == ids["trl"] == ids["jsonl"]


def completions(rng: random.Random, right: str) -> list[Completion]:
    """Right and wrong answers, with and without their mark, cut off, empty, in other alphabets."""
    wrong = str(rng.randint(10_000, 20_000))
    texts = [f"So it is\n#### {right}", f"#### {right.replace(',', '')}.", f"#### {wrong}"]
    texts += [f"#### {wrong}\n#### {right}", f"#### {right}\n#### {wrong}", right, "", "####"]
    texts += ["#### ٤٢", "\ufffd\x00 ####  -0", f"####{right}"]
    return [Completion((5,), (-1.0,), text, "stop", 0) for text in texts]


def test_the_rewards_are_the_same_through_all_forms_and_for_both_conventions(
    tasks: dict[str, Task], request: pytest.FixtureRequest
) -> None:
    rng = random.Random(1)
    scores: dict[str, list[float]] = {form: [] for form in tasks}
    for draw in range(ROWS):
        prompts = {form: task.prompt(draw) for form, task in tasks.items()}
        asked = completions(rng, prompts["verl"].columns["reward_model"]["ground_truth"])
        for form, task in tasks.items():
            verdicts = task.score(prompts[form], asked)
            assert not any(verdict.error for verdict in verdicts)
            scores[form] += [verdict.score for verdict in verdicts]
    assert scores["verl"] == scores["trl"] == scores["jsonl"]
    assert scores["verl"] == [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] * ROWS


def test_the_files_are_the_same_on_every_machine(folder: Path) -> None:
    lines = (folder / "input_label.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    assert first["input"][0]["content"].startswith(
        "Fumiko has 5 stamps and buys 36 packs of 8. Then Fumiko finds 6 more"
    )
    assert (len(lines), first["label"]) == (ROWS, "111")
