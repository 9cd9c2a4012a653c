"""A reward is found in a file, in a module, or among the built-in ones; a wrong name lists the right ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from strop.errors import ConfigError
from strop.rewards.builtin import BUILTIN
from strop.rewards.find import Reward, as_reward, find_reward, short_name
from tests.rewards.made import PROMPT, completions, numbers, reward_file, scorer_of

SCORE = "def score(prompt, completion):\n    return 1.0\n\n"


@pytest.fixture(autouse=True)
def imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports, and where from, is forgotten after it."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_function_is_found_in_a_file_and_a_wrong_name_lists_the_right_ones(tmp_path: Path) -> None:
    file = reward_file(tmp_path, SCORE)
    assert find_reward(f"{file}:score").function("", "") == 1.0
    with pytest.raises(ConfigError, match="has no function 'scores'; it has score"):
        find_reward(f"{file}:scores")
    with pytest.raises(ConfigError, match="there is no file"):
        find_reward(f"{tmp_path}/other.py:score")


@pytest.mark.parametrize(
    "text, error", [("import nowhere", "ModuleNotFoundError"), ("raise SystemExit(3)", "SystemExit: 3")]
)
def test_a_file_or_module_that_fails_on_import_is_a_config_error(
    text: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = reward_file(tmp_path, text, "strop_broken_reward.py")
    with pytest.raises(ConfigError, match=f"fails on import: {error}"):
        find_reward(f"{file}:score")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=f"cannot import strop_broken_reward: {error}"):
        find_reward("strop_broken_reward.score")


NEIGHBOURS = {
    "helper.py": "right = '4'",
    "lib/near.py": "right = '4'",
    "lib/mine.py": "from near import right\ndef score(completion):\n    return float(completion == right)",
    "lib/far.py": "from helper import right\nfrom lib.mine import score",
    "pack/__init__.py": "",
    "pack/near.py": "right = '4'",
    "pack/inner/__init__.py": "from ..near import right",
    "pack/inner/mine.py": "from . import right\ndef score(completion):\n    return float(completion == right)",
    "lib/plain.py": "from helper import right\ndef score(completion):\n    return float(completion == right)",
    "sibl.py": "from lib.plain import score",
}


@pytest.mark.parametrize(
    "use", ["lib/mine.py:score", "lib/far.py:score", "pack/inner/mine.py:score", "sibl.score", "sibl.py:score"]
)
def test_a_reward_may_import_its_neighbours_and_what_is_in_the_current_folder(
    use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's own path is that of the run, without the folder that it was started in."""
    for name, text in NEIGHBOURS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    with scorer_of(use) as scorer:
        assert numbers(scorer(PROMPT, completions("4", "5"))) == [1.0, 0.0]


def test_a_member_of_a_package_that_another_one_hides_is_refused(tmp_path: Path) -> None:
    (tmp_path / "strop" / "rewards").mkdir(parents=True)
    for folder in ("strop", "strop/rewards"):
        (tmp_path / folder / "__init__.py").touch()
    with pytest.raises(ConfigError, match=r"length.py is strop\.rewards\.length of a package, and importing "):
        find_reward(f"{reward_file(tmp_path / 'strop' / 'rewards', SCORE, 'length.py')}:score")


def test_a_module_keeps_the_stem_of_its_file_unless_that_is_taken(tmp_path: Path) -> None:
    names = {"own_stem.py": "own_stem", "random.py": "strop_reward_random", "with-dash.py": "strop_reward_with-dash"}
    for file, name in names.items():
        use = f"{reward_file(tmp_path, SCORE, file)}:score"
        assert find_reward(use).function.__module__ == name
        assert find_reward(use).function is find_reward(use).function
    (tmp_path / "other").mkdir()
    second = find_reward(f"{reward_file(tmp_path / 'other', SCORE, 'own_stem.py')}:score")
    assert second.function.__module__ == "strop_reward_own_stem"


def test_a_process_that_a_reward_spawns_finds_the_reward_s_module(tmp_path: Path) -> None:
    text = """
        from multiprocessing import get_context

        def square(number):
            return number * number

        def score(completion):
            with get_context("spawn").Pool(1) as pool:
                return float(pool.map(square, [int(completion)])[0])
    """
    with scorer_of(f"{reward_file(tmp_path, text, 'spawns.py')}:score", workers=1) as scorer:
        assert numbers(scorer(PROMPT, completions("3"))) == [9.0]


def test_a_function_is_found_by_its_dotted_name() -> None:
    found = find_reward("tests.rewards.hostile.score")
    assert (found.name, short_name(found.name)) == ("tests.rewards.hostile.score", "score")


def test_a_name_that_is_nearly_built_in_is_told_of() -> None:
    with pytest.raises(ConfigError, match="'maths' names no function; write .* math, .*; did you mean math?"):
        find_reward("maths")


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_is_found_by_its_name_and_keeps_it(name: str) -> None:
    assert find_reward(name).name == short_name(name) == name


def voting(tmp_path: Path, answer: str) -> Reward:
    return find_reward(f"{reward_file(tmp_path, SCORE + answer)}:score")


def test_an_answer_beside_the_reward_is_what_votes(tmp_path: Path) -> None:
    voted = voting(tmp_path, "def answer(completion):\n    return completion.split()[0]").voted
    assert voted is not None
    assert voted("B because") == "B"


def test_an_answer_that_takes_more_than_the_completion_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it must take one text"):
        voting(tmp_path, "def answer(completion, gold):\n    return gold")


def test_a_reward_called_answer_or_without_an_answer_beside_it_names_no_vote(tmp_path: Path) -> None:
    assert voting(tmp_path, "answer = 'forty-two'").voted is None
    file = reward_file(tmp_path, "def answer(prompt, completion):\n    return 1.0\n", "other.py")
    assert find_reward(f"{file}:answer").voted is None


def test_a_function_handed_over_is_called_by_its_own_name() -> None:
    def mine(prompt: str, completion: str, unit: str = "") -> float:
        return 1.0

    class Judge:
        def __call__(self, prompt: str, completion: str) -> float:
            return 1.0

    named: list[tuple[Any, str]] = [(mine, "mine"), (partial(mine, unit="m"), "mine"), (Judge(), "Judge")]
    assert [as_reward(function).name for function, _ in named] == [name for _, name in named]
