"""Problems made by seed: the same for the same draw, none held out that is trained on, scored as the library does."""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from strop.config.schema_task import Task as Settings
from strop.errors import ConfigError, DataError
from strop.tasks import reasoning_gym_task
from strop.tasks.find import find_task
from strop.tasks.reasoning_gym_task import SHARE, Maker, ReasoningGym, instruction_of, is_held_out
from strop.types import Completion, Prompt, Verdict


def settings(name: str = "chain_sum", **options: Any) -> Settings:
    return Settings(kind="reasoning_gym", name=name, data={"settings": options})  # type: ignore[arg-type]


def wrote(text: str, finish: Any = "stop") -> Completion:
    return Completion((1,), (0.0,), text, finish, 0)


class Made:
    """Stands for the process: its problems are numbers, `different` of them."""

    def __init__(self, different: int = 10**9) -> None:
        self.name, self.settings, self.different = "made", {}, different

    def entry(self, seed: int, index: int) -> dict[str, Any]:
        number = random.Random(f"{seed}/{index}").randrange(self.different)
        return {"dict": [["question", f"What is {number}?"], ["answer", str(number)], ["metadata", {"dict": []}]]}

    def close(self) -> None: ...


class Scored:
    """Stands for the scorer."""

    name, votes, warning = "scored", True, ""

    def check(self, prompts: Any) -> None: ...

    def __call__(self, prompt: Prompt, completions: Any) -> list[Verdict]:
        return [Verdict(1.0) for _ in completions]

    def close(self) -> None: ...


def made(seed: int = 0, size: int = 0, content: int = 0, different: int = 10**9) -> ReasoningGym:
    return ReasoningGym("made", Made(different), Scored(), seed, content, size, "Say it.")  # type: ignore[arg-type]


def test_a_prompt_follows_from_seed_and_draw_in_any_order() -> None:
    forth, back = [made(3, content=3).prompt(draw) for draw in range(600)], made(3, content=3)
    assert [back.prompt(draw) for draw in reversed(range(600))] == forth[::-1]
    assert len({prompt.id for prompt in forth}) == 600
    assert [made(4, content=4).prompt(draw).id for draw in range(20)] != [prompt.id for prompt in forth[:20]]


@pytest.mark.parametrize("different", [10**9, 500, 40])
def test_no_question_that_is_held_out_is_trained_on_whatever_the_seed(different: int) -> None:
    held = {prompt.content for prompt in made(different=different).held_out(30)}
    assert held
    for seed in range(3):
        trained = {made(seed, content=seed, different=different).prompt(draw).content for draw in range(300)}
        assert not trained & held
    assert {p.content for p in made(7, content=7, different=different).held_out(30)} == held


def test_a_fifth_of_the_questions_is_held_out() -> None:
    share = sum(is_held_out(made().made("train", 0, number, 0)) for number in range(2000)) / 2000
    assert abs(share - 1 / SHARE) < 0.05


def test_held_out_prompts_are_different_and_fewer_are_those_of_more() -> None:
    task = made()
    held = task.held_out(50)
    assert len({prompt.content for prompt in held}) == 50
    assert task.held_out(20) == held[:20]
    assert task.held_out(0) == ()


def test_questions_that_are_too_few_are_told() -> None:
    """With one question it is either held out, and there is none to train on, or the other way round."""
    [number] = [n for n in range(100) if is_held_out(made().as_prompt(Made().entry(0, n)))][:1]
    lonely = made()
    lonely.maker.entry = lambda *_: Made().entry(0, number)  # type: ignore[method-assign]
    with pytest.raises(DataError, match="its questions are too few: all of .* held out"):
        lonely.prompt(0)
    lonely.maker.entry = lambda *_: Made().entry(0, number + 1)  # type: ignore[method-assign]
    if not is_held_out(lonely.made("train", 0, 0, 0)):
        with pytest.raises(DataError, match="none can be held out"):
            lonely.held_out(5)


def test_a_size_makes_epochs_of_the_same_problems_in_other_orders() -> None:
    task = made(seed=1, size=40)
    epochs = [[task.prompt(draw).id for draw in range(start, start + 40)] for start in (0, 40)]
    assert sorted(epochs[0]) == sorted(epochs[1])
    assert epochs[0] != epochs[1]
    assert sorted(made(seed=2, size=40).prompt(draw).id for draw in range(40)) == sorted(epochs[0])


def test_the_instruction_stands_before_the_question() -> None:
    prompt = made().prompt(0)
    assert prompt.content == f"Say it.\n\n{prompt.columns['question']}"
    assert prompt.columns["tagged"] is True


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"size": -1}, r"task.data.settings.size: a whole number from 0 on, not -1"),
        ({"size": 1.5}, "not 1.5"),
        ({"seed": True}, "task.data.settings.seed: .* not True"),
    ],
)
def test_our_own_settings_are_checked_before_the_library_is_started(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        reasoning_gym_task.make(settings(**options), 0, Scored())  # type: ignore[arg-type]


def test_a_dataset_is_asked_for_by_name_and_the_library_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"task.name: .* such as chain_sum"):
        reasoning_gym_task.make(settings(""), 0, Scored())  # type: ignore[arg-type]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'strop\[tasks\]'"):
        reasoning_gym_task.make(settings(), 0, Scored())  # type: ignore[arg-type]


def test_an_instruction_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="instruction: a text, not 3"):
        instruction_of(3, {})


def test_the_tasks_of_the_page_are_settings_that_strop_takes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "made-tasks.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert [Settings(**yaml.safe_load(block)["task"]).kind for block in blocks] == ["reasoning_gym", "verifiers"]


@pytest.fixture(scope="module")
def sums() -> Iterator[Any]:
    task = find_task(settings(min_terms=2, max_terms=3), seed=0)
    yield task
    task.close()


@pytest.mark.slow
def test_right_answers_of_a_real_dataset_score_one(sums: Any) -> None:
    assert sums.description == ("reasoning-gym chain_sum, problems without end made by seed (min_terms 2, max_terms 3)")
    for draw in range(3):
        prompt = sums.prompt(draw)
        right = prompt.columns["answer"]
        tagged, bare, wrong, cut = sums.score(
            prompt,
            [
                wrote(f"<answer>{right}</answer>"),
                wrote(right),
                wrote("<answer>no</answer>"),
                wrote("<answer>", "length"),
            ],
        )
        assert (tagged.score, tagged.answer) == (1.0, right)
        assert (bare.score, wrong.score, cut.score) == (0.0, 0.0, 0.0)
        assert (wrong.answer, cut.answer) == ("no", "")


@pytest.mark.slow
def test_a_real_dataset_makes_the_same_prompts_in_another_process(sums: Any) -> None:
    again = find_task(settings(min_terms=2, max_terms=3), seed=0)
    try:
        assert [again.prompt(draw) for draw in (7, 500, 3)] == [sums.prompt(draw) for draw in (7, 500, 3)]
        assert again.held_out(5) == sums.held_out(5)
    finally:
        again.close()


@pytest.mark.slow
def test_problems_that_follow_from_the_order_of_a_set_are_the_same_under_any_salt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for salt in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", salt)
        maker = Maker("isomorphic_strings", {})
        try:
            maker.open()
            found.append([maker.entry(7, index) for index in range(5)])
        finally:
            maker.close()
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (settings("chain_sums"), "task.name: reasoning-gym has no dataset 'chain_sums'; did you mean chain_sum"),
        (settings(min_term=2), "chain_sum has no setting 'min_term'; it has .*; did you mean min_terms"),
        (settings(min_terms=-2), "chain_sum does not take them: AssertionError: min_terms"),
        (settings(instruction="defualt"), "'defualt' is no name; write a text, '' or one of .*default"),
    ],
)
def test_what_is_wrong_with_the_settings_is_one_line_with_the_nearest_name(given: Settings, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        find_task(given, seed=0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "instruction"),
    [("", ""), (" \n", ""), ("Short, please. ", "Short, please."), ("simple", "Show your work.")],
)
def test_an_instruction_is_a_text_or_one_of_the_librarys_or_none(text: str, instruction: str) -> None:
    assert instruction_of(text, {"simple": " Show your work.\n"}) == instruction


def test_without_an_instruction_the_question_stands_alone_and_needs_no_tags() -> None:
    prompt = replace(made(), instruction="").prompt(0)
    assert prompt.content == prompt.columns["question"]
    assert prompt.columns["tagged"] is False


@pytest.mark.slow
def test_a_composite_dataset_says_what_each_problem_is_from() -> None:
    parts = [{"name": "chain_sum"}, {"name": "leg_counting", "weight": 2}]
    task = find_task(settings("composite", datasets=parts), seed=0)
    try:
        prompts = [task.prompt(draw) for draw in range(20)]
        assert {task.labels(prompt, wrote(""))["dataset"] for prompt in prompts} == {"chain_sum", "leg_counting"}
        verdicts = [
            task.score(prompt, [wrote(f"<answer>{prompt.columns['answer']}</answer>")])[0] for prompt in prompts
        ]
        assert [verdict.score for verdict in verdicts] == [1.0] * 20
    finally:
        task.close()


@pytest.mark.slow
def test_the_users_own_reward_scores_in_place_of_the_librarys() -> None:
    task = find_task(settings(), seed=0, reward=lambda completion, answer: float(answer in completion))
    try:
        prompt = task.prompt(0)
        assert [v.score for v in task.score(prompt, [wrote(f"It is {prompt.columns['answer']}"), wrote("?")])] == [
            1.0,
            0.0,
        ]
    finally:
        task.close()
