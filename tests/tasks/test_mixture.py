"""A mixture: every prompt knows its task, is scored by that task's rewards, and evaluation is broken down by it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import strop
from strop.config.schema import Task as Settings
from strop.errors import ConfigError, DataError
from strop.tasks.arithmetic import Arithmetic
from strop.tasks.find import find_task
from strop.tasks.mixture import Mixture, mix
from strop.tasks.task import Listed, Warned
from strop.types import Completion
from tests.tasks.fakes import file_task, write_jsonl

NINE = Completion((5,), (-1.0,), "#9", "stop", 0)


def small(tmp_path: Path, name: str, count: int, score: float) -> Any:
    rows = [{"prompt": f"{name} {i}", "answer": str(i)} for i in range(count)]
    path = write_jsonl(tmp_path / f"{name}.jsonl", rows)
    return file_task(path, reward=lambda prompt, completion: score)


@pytest.fixture
def mixed(tmp_path: Path) -> Mixture:
    return mix([small(tmp_path, "a", 20, 0.25), small(tmp_path, "b", 40, 0.75), Arithmetic()], [1.0, 2.0, 1.0], 0)


def test_each_prompt_is_scored_by_the_rewards_of_its_task_and_labelled_with_it(mixed: Mixture) -> None:
    seen: Counter[str] = Counter()
    for draw in range(256):
        prompt = mixed.prompt(draw)
        name = mixed.labels(prompt, NINE)["task"]
        seen[name] += 1
        [verdict] = mixed.score(prompt, [NINE])
        expected = {"a.jsonl": 0.25, "b.jsonl": 0.75, "arithmetic": float(prompt.columns["answer"] == "9")}
        assert verdict.score == expected[name]
        assert prompt.id.startswith(f"{name}/")
    assert seen == {"a.jsonl": 64, "b.jsonl": 128, "arithmetic": 64}


def test_the_labels_of_the_task_itself_are_kept(mixed: Mixture) -> None:
    prompt = next(p for p in map(mixed.prompt, range(64)) if p.id.startswith("arithmetic/"))
    assert mixed.labels(prompt, NINE).keys() == {"task", "size", "style"}


def test_every_task_goes_through_its_own_epochs(mixed: Mixture) -> None:
    drawn = [prompt.id for prompt in map(mixed.prompt, range(16 * 64)) if prompt.id.startswith("b.jsonl/")]
    assert len(drawn) == 512
    assert set(Counter(drawn).values()) <= {512 // 36, 512 // 36 + 1}


def test_prompts_are_held_out_of_each_by_weight_and_others_fill_up(mixed: Mixture) -> None:
    def held(count: int) -> Counter[str]:
        return Counter(prompt.id.partition("/")[0] for prompt in mixed.held_out(count))

    assert held(4) == {"a.jsonl": 1, "b.jsonl": 2, "arithmetic": 1}
    assert held(3) == {"a.jsonl": 1, "b.jsonl": 1, "arithmetic": 1}
    assert held(100) == {"a.jsonl": 2, "b.jsonl": 4, "arithmetic": 94}
    trained = {mixed.prompt(draw).id for draw in range(500)}
    assert trained.isdisjoint(prompt.id for prompt in mixed.held_out(100))


def test_equal_rows_of_two_tasks_are_two_prompts(tmp_path: Path) -> None:
    twice = mix([small(tmp_path, "a", 10, 0.0), small(tmp_path, "a", 10, 1.0)], [1.0, 1.0], 0)
    assert twice.name == "a.jsonl + a.jsonl 2"
    scores = {twice.score(prompt, [NINE])[0].score for prompt in map(twice.prompt, range(64))}
    assert scores == {0.0, 1.0}
    assert len({prompt.id for prompt in twice.known()}) == 20


def test_a_description_says_the_share_of_each(mixed: Mixture) -> None:
    assert mixed.description.startswith("25.0% a.jsonl, 20 rows, 20 unique: 18 prompts to train on")
    assert f"; 25.0% {Arithmetic.description}" in mixed.description


def test_what_is_odd_about_the_data_of_each_is_told_with_its_name(tmp_path: Path) -> None:
    odd = write_jsonl(tmp_path / "odd.jsonl", [{"prompt": ""}, {"prompt": "a"}, {"prompt": "b"}])
    mixed = mix([file_task(odd, max_bad=1), Arithmetic()], [1.0, 1.0], 0)
    assert isinstance(mixed, Listed) and isinstance(mixed, Warned)
    [told] = mixed.warnings
    assert told.startswith("odd.jsonl: 1 of 3 rows is malformed and left out")


def test_a_task_that_makes_its_prompts_up_cannot_leave_any_out(mixed: Mixture) -> None:
    with pytest.raises(DataError, match="arithmetic: 1 prompts are too long, and this task cannot leave prompts out"):
        mixed.without({"arithmetic/4+7"}, "too long")


def test_closing_a_mixture_closes_every_task(mixed: Mixture, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr("strop.tasks.file_task.FileTask.close", lambda self: closed.append(self.name))
    mixed.close()
    assert closed == ["a.jsonl", "b.jsonl"]


def settings(tmp_path: Path, **changes: Any) -> Settings:
    file = write_jsonl(tmp_path / "d.jsonl", [{"prompt": f"{i}", "answer": "1"} for i in range(20)])
    for name, number in (("low", 0.25), ("high", 0.75)):
        (tmp_path / f"{name}.py").write_text(f"def {name}(prompt, completion):\n    return {number}\n")
    entries = [{"file": str(file), "reward": f"{tmp_path}/low.py:low", "weight": 3}, {"kind": "arithmetic"}]
    return Settings.model_validate({"kind": "mixture", "mix": entries} | changes)


def test_a_section_of_kind_mixture_gives_a_mixture(tmp_path: Path) -> None:
    mixed = find_task(settings(tmp_path), seed=0)
    names = Counter(prompt.id.partition("/")[0] for prompt in map(mixed.prompt, range(256)))
    assert names == {"d.jsonl": 192, "arithmetic": 64}
    mixed.close()


def test_an_entry_without_a_reward_has_that_of_the_section(tmp_path: Path) -> None:
    mixed = find_task(settings(tmp_path, reward=f"{tmp_path}/high.py:high"), seed=0)
    scores = {p.id.partition("/")[0]: mixed.score(p, [NINE])[0].score for p in map(mixed.prompt, range(64))}
    assert scores == {"d.jsonl": 0.25, "arithmetic": 0.75}
    mixed.close()


def test_a_fault_of_an_entry_names_it_and_closes_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    monkeypatch.setattr("strop.tasks.file_task.FileTask.close", lambda self: closed.append(self.name))
    (tmp_path / "bad.jsonl").write_text("{}\n")
    first, *_ = settings(tmp_path).model_dump()["mix"]
    bad = [first, {"file": f"{tmp_path}/bad.jsonl", "reward": f"{tmp_path}/low.py:low"}]
    with pytest.raises(DataError, match=r"^task.mix, entry 2: .*bad.jsonl:1: column 'prompt': is missing"):
        find_task(settings(tmp_path, mix=bad), seed=0)
    assert closed == ["d.jsonl"]
    with pytest.raises(ConfigError, match=r"^task.mix, entry 1: task.reward: a task of kind default needs one"):
        find_task(settings(tmp_path, mix=[{"file": first["file"]}]), seed=0)


def test_an_accuracy_reward_is_that_of_the_entries_that_have_it(tmp_path: Path) -> None:
    two = [f"{tmp_path}/low.py:low", f"{tmp_path}/high.py:high"]
    entries = [{"file": f"{tmp_path}/d.jsonl", "reward": two}, {"kind": "arithmetic", "reward": two[0]}]
    mixed = find_task(settings(tmp_path, mix=entries, scoring={"accuracy": "high"}), seed=0)
    scores = {p.id.partition("/")[0]: mixed.score(p, [NINE])[0].score for p in map(mixed.prompt, range(64))}
    assert scores == {"d.jsonl": 0.75, "arithmetic": 0.25}
    mixed.close()
    with pytest.raises(ConfigError, match=r"task.scoring.accuracy: no entry of task.mix has a reward 'hgih'"):
        find_task(settings(tmp_path, mix=entries, scoring={"accuracy": "hgih"}), seed=0)


def test_a_prompt_keeps_its_place_in_its_file(mixed: Mixture) -> None:
    places = {prompt.id: prompt.where for prompt in mixed.known()}
    assert len(places) == 60
    assert all(id.partition("/")[0] == where.rpartition("/")[2].partition(":")[0] for id, where in places.items())


@pytest.mark.slow
def test_an_evaluation_of_a_mixture_is_broken_down_by_task(tmp_path: Path) -> None:
    entries = settings(tmp_path).model_dump()["mix"]
    small = {"prompts": 2, "completions": 2, "max_tokens": 4, "filter": "none", "overlong": {"buffer": 0}}
    found = strop.train(
        {
            "task": {"kind": "mixture", "mix": entries},
            "rollout": small,
            "train": {"steps": 1, "updates": 1},
            "eval": {"prompts": 4, "completions": 2, "every": 0},
            "runs": str(tmp_path / "runs"),
        }
    )
    by = found.summary["accuracy_after"]["by"]["task"]
    assert by["d.jsonl"] == [0.25, 4]
    assert by["arithmetic"][1] == 4
