"""An environment that asks once gives its problems and its rewards; one that does more is refused with the reason."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strop.config.schema_task import Task as Settings
from strop.errors import ConfigError, DataError
from strop.tasks.find import find_task
from strop.types import Completion, Prompt
from tests.tasks.environments import ENVIRONMENTS, REASONS

STAND_IN = Path(__file__).parent / "stand_in"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The environments as installed packages, and verifiers: itself, or what stands in for it."""
    folder = tmp_path_factory.mktemp("environments")
    for name, text in ENVIRONMENTS.items():
        (folder / f"{name}.py").write_text(text)
    paths = [str(folder), *([] if importlib.util.find_spec("verifiers") else [str(STAND_IN)])]
    sys.path[:0] = paths
    importlib.invalidate_caches()
    yield
    for path in paths:
        sys.path.remove(path)
    for name in [n for n in sys.modules if n.startswith(("verifiers", "toy_", "strop.tasks.verifiers"))]:
        del sys.modules[name]


pytestmark = pytest.mark.usefixtures("installed")


def settings(name: str = "toy-sums", **options: Any) -> Settings:
    return Settings(kind="verifiers", name=name, data={"settings": options})  # type: ignore[arg-type]


def wrote(text: str) -> Completion:
    return Completion((1,), (0.0,), text, "stop", 0)


@pytest.fixture(scope="module")
def sums(installed: None) -> Iterator[Any]:
    task = find_task(settings(), seed=0)
    yield task
    task.close()


def test_its_problems_are_prompts_and_some_are_held_out(sums: Any) -> None:
    assert sums.description == "verifiers toy-sums, 27 problems: 25 prompts to train on, 25 different, 2 held out"
    everything = {str(prompt.content) for prompt in sums.known()}
    assert len(everything) == 27
    prompt = next(each for each in sums.known() if each.where == "toy-sums:4")
    assert [dict(each) for each in prompt.content] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "1 + 1?"},
    ]
    assert prompt.columns["answer"] == "2"
    assert {sums.prompt(draw).id for draw in range(25)} == {prompt.id for prompt in sums.rows}


def test_a_problem_without_a_system_prompt_is_its_text() -> None:
    task = find_task(settings(system="", largest=4), seed=0)
    try:
        assert {prompt.content for prompt in task.known()} == {f"{a} + {b}?" for a in range(4) for b in range(3)}
    finally:
        task.close()


def test_a_completion_has_the_weighted_sum_of_the_rewards_and_each_by_its_name(sums: Any) -> None:
    """Scored on a trace whose system prompt, question and reply are the environment's own."""
    prompt: Prompt = next(each for each in sums.known() if each.where == "toy-sums:4")
    right, long, wrong = sums.score(prompt, [wrote("2"), wrote("I think that it is 2"), wrote("no")])
    assert right.parts == {
        "verifiers": 1.25,
        "verifiers/right": 1.0,
        "verifiers/short": 1.0,
        "verifiers/letters": 1.0,
    }
    assert (right.score, right.bonus, right.error) == (1.25, 0.0, "")
    assert (long.score, long.parts["verifiers/letters"]) == (1.0, 20.0)
    assert wrong.score == 0.25


def test_a_reward_that_raises_is_an_error_and_the_others_stand(sums: Any) -> None:
    failed, right = sums.score(sums.prompt(0), [wrote("fail"), wrote(str(sums.prompt(0).columns["answer"]))])
    assert "what it wants" in failed.error
    assert (right.score, right.error) == (1.25, "")


@pytest.mark.parametrize("name", REASONS)
def test_an_environment_that_needs_more_than_one_text_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(ConfigError, match=f"verifiers {name} is not for a single turn: .*{REASONS[name]}") as caught:
        find_task(settings(name), seed=0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        (settings(larges=3), ConfigError, "task.data.settings.larges: toy-sums: .*; did you mean largest"),
        (
            settings(largest="many"),
            ConfigError,
            "task.data.settings.largest: toy-sums: Input should be a valid integer",
        ),
        (settings("toy_absent"), ConfigError, "task.name: verifiers cannot load 'toy_absent': ModuleNotFoundError"),
        (settings("toy_import"), ConfigError, "a_package_that_is_not_there|toy_import"),
        (settings("toy_nothing"), ConfigError, "task.name: verifiers cannot load 'toy_nothing': TypeError"),
        (settings(""), ConfigError, "task.name: a verifiers task needs the name"),
        (settings("toy_empty"), DataError, "verifiers toy_empty: it has no problems"),
        (settings("toy_broken"), DataError, "verifiers toy_broken: its problems: ZeroDivisionError"),
    ],
)
def test_what_is_wrong_is_one_line(given: Settings, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says) as caught:
        find_task(given, seed=0)
    assert "\n" not in str(caught.value)


def test_without_the_library_the_error_is_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith(("verifiers", "strop.tasks.verifiers_score"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "verifiers", None)
    with pytest.raises(ConfigError, match=r"pip install 'strop\[verifiers\]'"):
        importlib.import_module("strop.tasks.verifiers_score")
