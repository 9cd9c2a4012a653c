"""Several rewards become one verdict: the accuracy is a named one, the weighted sum is what is trained on."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.errors import ConfigError
from strop.rewards.here import Here
from strop.rewards.pool import Pool
from strop.rewards.scorer import Part, Scoring, accuracy_of, make_scorer
from strop.types import Prompt
from tests.rewards.made import PROMPT, completions, numbers, reward_file, scorer_of

REWARDS = """
    def right(completion, answer):
        return float(completion == answer)

    def short(prompts, completions, **rest):
        return [None if text == "none" else -len(text) for text in completions]

    def compute_score(data_source, solution_str, ground_truth, extra_info=None):
        ok = solution_str == ground_truth
        return {"score": 1.0 if ok else -1.0, "acc": ok, "pred": solution_str, "length": len(solution_str)}

    def by_place(question, words):
        return float(words == "4")

    hidden = lambda *args, **kwargs: 1.0

    async def waits(prompt, completion):
        return 0.25

    def fails(completion, **rest):
        return 1.0 if completion == "4" else 1 / 0

    def never(completions, **rest):
        return [None] * len(completions)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    return reward_file(tmp_path, REWARDS)


def test_one_reward_is_the_score_and_has_no_bonus(file: str) -> None:
    with scorer_of(f"{file}:right") as scorer:
        verdicts = scorer(PROMPT, completions("4", "5"))
        assert [(v.score, v.bonus, v.parts) for v in verdicts] == [
            (1.0, 0.0, {"right": 1.0}),
            (0.0, 0.0, {"right": 0.0}),
        ]
        assert (scorer.name, scorer.votes, scorer.warning) == (f"{file}:right", False, "")


def test_what_is_trained_on_is_the_weighted_sum_and_the_score_stays_the_accuracy(file: str) -> None:
    parts = [Part(f"{file}:short", 0.5), Part(f"{file}:right", 2.0, "exact"), Part(f"{file}:waits")]
    scorer = make_scorer(parts, Scoring(accuracy="exact"))
    verdicts = scorer(PROMPT, completions("4", "none", "500"))
    assert [v.score for v in verdicts] == [1.0, 0.0, 0.0]
    assert [v.score + v.bonus for v in verdicts] == [0.5 * -1 + 2 + 0.25, 0.25, 0.5 * -3 + 0.25]
    assert verdicts[0].parts == {"short": -1.0, "exact": 1.0, "waits": 0.25}
    assert verdicts[1].parts == {"exact": 0.0, "waits": 0.25}
    scorer.close()


def test_a_reward_that_names_no_parameter_is_warned_of(file: str) -> None:
    with scorer_of(f"{file}:hidden") as scorer:
        assert "hidden has the parameters (*args, **kwargs)" in scorer.warning


def test_the_acc_of_a_verl_reward_is_the_score_and_its_pred_votes(file: str) -> None:
    """verl's DAPO reward gives -1 or 1 and says in `acc` what is right: groups are judged on that."""
    with scorer_of(f"{file}:compute_score") as scorer:
        right, wrong = scorer(PROMPT, completions("4", "5"))
    assert (right.score, right.bonus, right.answer) == (1.0, 0.0, "4")
    assert (wrong.score, wrong.bonus, wrong.answer) == (0.0, -1.0, "5")
    assert wrong.parts == {"compute_score": -1.0, "compute_score/acc": 0.0, "compute_score/length": 1.0}


def test_where_any_reward_fails_the_completion_is_unscorable_and_says_why(file: str) -> None:
    """Report B38, https://github.com/NVIDIA-NeMo/Gym/pull/2015: a failure is no 0."""
    for uses in ((f"{file}:right", f"{file}:fails"), (f"{file}:fails", f"{file}:right")):
        with scorer_of(*uses) as scorer:
            fine, failed = scorer(PROMPT, completions("4", "5"))
        assert (fine.score, fine.error) == (1.0, "")
        assert math.isnan(failed.score)
        assert failed.error.startswith(f"reward {file}:fails raised ZeroDivisionError: division by zero (prompt 'p1')")
        assert failed.parts == {"right": 0.0}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    text = """
        import os
        def score(completion, answer):
            if completion == "exit":
                os._exit(1)
            return {"4": 1.0, "5": 0.0, "nan": float("nan"), "none": None, "text": "1.0"}[completion]
    """
    with scorer_of(f"{reward_file(tmp_path_factory.mktemp('mixed'), text)}:score") as scorer:
        yield scorer


@given(st.lists(st.sampled_from(["4", "5", "nan", "none", "text", "raise", "exit"]), max_size=8))
@settings(max_examples=30)
def test_failures_wherever_they_stand_are_no_scores_and_leave_the_others_as_they_are(
    mixed: Any, texts: list[str]
) -> None:
    """Goal R13."""
    verdicts = mixed(PROMPT, completions(*texts))
    fine = [text in ("4", "5") for text in texts]
    assert [not verdict.error for verdict in verdicts] == fine
    assert all(math.isnan(verdict.score) for verdict in verdicts if verdict.error)
    kept = [text for text in texts if text in ("4", "5")]
    assert numbers([verdict for verdict in verdicts if not verdict.error]) == [float(text == "4") for text in kept]


def test_an_accuracy_that_says_nothing_is_unscorable_and_another_that_does_adds_nothing(file: str) -> None:
    with scorer_of(f"{file}:never") as scorer:
        [verdict] = scorer(PROMPT, completions("4"))
        assert math.isnan(verdict.score)
        assert "returned None for prompt 'p1': it says right or wrong" in verdict.error
    with scorer_of(f"{file}:right", f"{file}:never") as scorer:
        assert numbers(scorer(PROMPT, completions("4", "5"))) == [1.0, 0.0]


def test_no_completions_have_no_verdicts(file: str) -> None:
    with scorer_of(f"{file}:right", f"{file}:short") as scorer:
        assert scorer(PROMPT, []) == []


def test_scores_of_earlier_groups_are_given_while_later_ones_are_written(file: str) -> None:
    pulled: list[int] = []

    def groups() -> Iterator[tuple[Prompt, list[Any]]]:
        for number in range(600):
            pulled.append(number)
            yield Prompt(str(number), "", {"answer": str(number)}), completions(str(number), "x")

    with scorer_of(f"{file}:right") as scorer:
        given = 0
        for number, verdicts in enumerate(scorer.stream(groups())):
            assert numbers(verdicts) == [1.0, 0.0]
            given = max(given, len(pulled) - number)
    assert len(pulled) == 600
    assert given <= 257


def test_a_row_that_lacks_what_a_reward_needs_is_named_before_any_completion(file: str) -> None:
    with scorer_of(f"{file}:right") as scorer:
        with pytest.raises(ConfigError, match=r"right has the parameter 'answer', and prompt x:2 has no such"):
            scorer.check([PROMPT, Prompt("q", "", {"gold": "4"}, where="x:2")])
        with pytest.raises(ConfigError, match=r"task\.reward: the column 'answer' of prompt 'q' cannot be handed over"):
            scorer.check([Prompt("q", "", {"answer": b"4"})])
        scorer.check([Prompt("q", "", {"answer": "4", "image": b"png"})])
    with scorer_of(f"{file}:compute_score") as scorer:
        with pytest.raises(ConfigError, match="has the parameter 'ground_truth', and prompt 'q' has no such column"):
            scorer.check([Prompt("q", "", {"question": "4"})])
        scorer.check([Prompt("q", "", {"reward_model": {"ground_truth": "4"}})])
    with scorer_of(f"{file}:by_place") as scorer:
        with pytest.raises(
            ConfigError, match="get the completion as 'words', its second place, and prompt 'q' has a col"
        ):
            scorer.check([PROMPT, Prompt("q", "", {"words": "4"})])
        scorer.check([Prompt("q", "", {"question": "4"})])
    with scorer_of("boxed") as scorer, pytest.raises(ConfigError, match=r"task\.reward: boxed needs the right answer"):
        scorer.check([Prompt("q", "", {"level": 1})])


@pytest.mark.parametrize(
    "names, accuracy, message",
    [
        ([], "", "there is no reward; write task.reward"),
        (["a", "b", "a"], "", "two rewards are called 'a'; give one a name"),
        (["exact", "short"], "exakt", "no reward is called 'exakt'; there are exact, short; did you mean exact?"),
    ],
)
def test_the_accuracy_is_one_reward_s_name(names: list[str], accuracy: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        accuracy_of(names, accuracy)
    assert accuracy_of(["a", "b"], "") == 0
    assert accuracy_of(["a", "b"], "b") == 1


def closing_over(value: float) -> Callable[..., Any]:
    def mine(prompt: str, completion: str, answer: str) -> float:
        return value * (completion == answer) + (os.getpid() == HERE)

    return mine


HERE = os.getpid()


def test_a_function_from_python_runs_in_forked_processes_with_what_it_closes_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("strop.rewards.scorer.other_threads", lambda: [])
    scorer = make_scorer([], Scoring(deadline_s=0.3), function=closing_over(0.5))
    assert (scorer.name, scorer.warning, type(scorer.runner)) == ("mine", "", Pool)
    assert numbers(scorer(PROMPT, completions("4", "5"))) == [0.5, 0.0]
    scorer.close()


def test_a_function_handed_over_while_a_thread_runs_stays_here_and_that_is_said() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="busy")
    thread.start()
    scorer = make_scorer([], Scoring(), function=closing_over(0.5))
    assert type(scorer.runner) is Here
    assert "so task.scoring.deadline_s and memory_mb do not hold" in scorer.warning
    assert numbers(scorer(PROMPT, completions("4"))) == [1.5]
    scorer.close()
    stop.set()
    thread.join()


def test_a_hang_in_a_function_from_python_costs_one_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(prompt: str, completion: str) -> float:
        while completion == "hang":
            pass
        return 1.0

    monkeypatch.setattr("strop.rewards.scorer.other_threads", lambda: [])
    scorer = make_scorer([], Scoring(deadline_s=0.3), function=hangs)
    verdicts = scorer(PROMPT, completions("a", "hang", "b"))
    assert [verdict.error == "" for verdict in verdicts] == [True, False, True]
    scorer.close()


CHAT_ROW = Prompt(
    "p1",
    ({"role": "user", "content": "What is 2 + 2?"},),
    {
        "ground_truth": "4",
        "data_source": "math_dapo",
        "reward_model": {"ground_truth": "4"},
        "extra_info": {"index": 1},
    },
)


CONVENTIONS = Path(__file__).with_name("conventions.py")
BOTH = (r"so \boxed{4}", r"so \boxed{5}")
TEXT_ROW = Prompt("p2", "What is 2 + 2?", CHAT_ROW.columns)
REWARDED = [
    (CHAT_ROW, "reward_correct", [1.0, 0.0]),
    (TEXT_ROW, "reward_length", [11.0, 11.0]),
    (TEXT_ROW, "reward_async", [0.25, 0.25]),
    (TEXT_ROW, "reward_by_step", [0.0, 0.0]),
    (TEXT_ROW, "compute_score", [1.0, -1.0]),
    (CHAT_ROW, "compute_score", [1.0, -1.0]),
    (TEXT_ROW, "compute_score_async", [0.0, 0.0]),
]


@pytest.mark.parametrize("prompt, name, rewards", REWARDED)
def test_rewards_written_as_the_pages_of_trl_and_verl_say_run_unchanged(
    prompt: Prompt, name: str, rewards: list[float]
) -> None:
    with scorer_of(f"{CONVENTIONS}:{name}") as scorer:
        scorer.check([prompt])
        verdicts = scorer(prompt, completions(*BOTH))
    assert not [verdict.error for verdict in verdicts if verdict.error]
    assert [verdict.score + verdict.bonus for verdict in verdicts] == rewards


def test_rewards_of_several_tasks_apply_each_to_its_own_rows() -> None:
    rows = [Prompt(task, "2+2", {"task": task, "ground_truth": "4", "extra_info": {}}) for task in ("math", "code")]
    with scorer_of(f"{CONVENTIONS}:compute_score", f"{CONVENTIONS}:reward_of_one_task") as scorer:
        bonuses = [scorer(row, completions(BOTH[0]))[0].bonus for row in rows]
    assert bonuses == [1.0, 0.0]


@pytest.mark.peer("trl")
def test_a_reward_of_trl_runs_unchanged() -> None:
    with scorer_of("trl.rewards.think_format_reward") as scorer:
        texts = ("<think>\nx\n</think>\n4", "4", "<think>x")
        assert numbers(scorer(CHAT_ROW, completions(*texts))) == [1.0, 0.0, 0.0]


@pytest.mark.peer("verl")
def test_rewards_of_verl_run_unchanged() -> None:
    texts = ("Answer: 4", "Answer: 5", "#### 4")
    with scorer_of("verl.utils.reward_score.default_compute_score") as scorer:
        verdicts = scorer(CHAT_ROW, completions(*texts))
    assert [(v.score, v.score + v.bonus) for v in verdicts] == [(1.0, 1.0), (0.0, -1.0), (0.0, -1.0)]
    with scorer_of("verl.utils.reward_score.gsm8k.compute_score") as scorer:
        assert numbers(scorer(CHAT_ROW, completions(*texts))) == [0.0, 0.0, 1.0]
