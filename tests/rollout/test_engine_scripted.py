from __future__ import annotations

from typing import Any

import pytest

from strop.errors import ConfigError, DataError
from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_scripted import Answer, CodePoints, Script, ScriptedEngine
from strop.types import Completion

PROMPT = (50, 43, 50, 61)  # "2+2="


def sample(script: Script, *, completions: int = 1, max_tokens: int = 8, **settings: Any) -> tuple[Completion, ...]:
    engine = ScriptedEngine(script, **settings)
    [group] = engine.sample([Request(3, PROMPT, completions)], Sampling(max_tokens=max_tokens))
    return group


def test_a_callable_is_asked_for_every_completion_by_prompt_draw_and_index() -> None:
    asked: list[tuple[Any, ...]] = []

    def script(prompt_ids: tuple[int, ...], draw: int, completion: int) -> str:
        asked.append((prompt_ids, draw, completion))
        return "4" if completion == 0 else "five"

    right, wrong = sample(script, completions=2)
    assert asked == [(PROMPT, 3, 0), (PROMPT, 3, 1)]
    assert right == Completion((52, 0), (-1.0, -1.0), "4", "stop", 0)
    assert (wrong.text, wrong.ids, wrong.finish) == ("five", (*map(ord, "five"), 0), "stop")


def test_a_table_gives_ids_as_sampled() -> None:
    table = {(PROMPT, 3, 0): (52, 0), (PROMPT, 3, 1): Answer((53, 0), logp=(-0.5, -0.25), text="FIVE")}
    right, wrong = sample(table, completions=2, logp=-2.0)
    assert right == Completion((52, 0), (-2.0, -2.0), "4", "stop", 0)
    assert wrong == Completion((53, 0), (-0.5, -0.25), "FIVE", "stop", 0)


def test_answers_are_cut_at_the_first_end_token_and_at_max_tokens() -> None:
    [early] = sample(lambda *_: (52, 9, 53, 0), eos_ids=(0, 9))
    assert (early.ids, early.text, early.finish) == ((52, 9), "4", "stop")
    [long] = sample(lambda *_: Answer((52, 53, 54, 0), (-1.0, -2.0, -3.0, -4.0), "456"), max_tokens=2)
    assert (long.ids, long.sampler_logp, long.text, long.finish) == ((52, 53), (-1.0, -2.0), "45", "length")
    [edge] = sample(lambda *_: "45", max_tokens=3)
    assert (edge.tokens, edge.finish) == (3, "stop")
    [empty] = sample(lambda *_: "")
    assert (empty.ids, empty.text, empty.finish) == ((0,), "", "stop")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ({}, r"no answer: draw 3, completion 0, prompt ids \[50, 43, 50, 61\]"),
        (lambda *_: None, "no answer: draw 3, completion 0"),
        (lambda *_: {}["missing"], r"no answer \(KeyError: 'missing'\): draw 3, completion 0"),
        (lambda *_: (52,), "1 tokens and no end token, but max_tokens is 8"),
        (lambda *_: (), "0 tokens and no end token"),
        (lambda *_: Answer((52, 0), logp=(-1.0,)), "2 ids and 1 log-probs"),
    ],
)
def test_an_answer_that_is_missing_or_impossible_is_named(script: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        sample(script)


def test_groups_come_in_order_with_version_and_progress() -> None:
    engine = ScriptedEngine(lambda ids, draw, completion: f"{draw}.{completion}")
    engine.load(5)
    seen: list[tuple[int, int]] = []
    asked = [Request(draw, PROMPT, 2) for draw in (4, 1)]
    groups = list(engine.sample(asked, Sampling(max_tokens=8), lambda *step: seen.append(step)))
    assert [[completion.text for completion in group] for group in groups] == [["4.0", "4.1"], ["1.0", "1.1"]]
    assert {completion.version for group in groups for completion in group} == {5}
    assert seen == [(2, 4), (4, 4)]


def test_code_points_are_a_tokenizer_that_loses_nothing() -> None:
    tokenizer = CodePoints()
    assert tokenizer.decode([*tokenizer.encode("2+2=\U0001f600"), 0]) == "2+2=\U0001f600"


def test_a_script_knows_no_other_tokens_than_it_took() -> None:
    engine = ScriptedEngine(lambda prompt, draw, index: "4")
    with pytest.raises(ConfigError, match="topk is 3, and a script says nothing of tokens that it did not take"):
        list(engine.sample([Request(0, (5,), 1)], Sampling(9, topk=3)))
