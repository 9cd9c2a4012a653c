"""The program of a completion is found, run against its row's cases, and scored 1.0 or 0.0."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from strop.errors import ConfigError, DataError, RewardError
from strop.rewards import code, sandbox
from strop.rewards.code import answer, score, whole
from tests.rewards.sandboxed import needs_bubblewrap

TICKS = "```"


def block(body: str, language: str = "python", ticks: str = TICKS) -> str:
    return f"{ticks}{language}\n{body}\n{ticks}\n"


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        (f"So:\n{block('a = 1')}Done.", "a = 1"),
        (block("a = 1") + "No, wait.\n" + block("a = 2"), "a = 2"),
        (block("a = 1") + "It prints:\n" + block("1", ""), "a = 1"),
        (block("a = 1") + "Run it:\n" + block("python a.py", "bash"), "a = 1"),
        (block("a = 1", "") + block("b = 2", ""), "b = 2"),
        (block("a = 1", "Python3"), "a = 1"),
        (block("a = 1", "python title=x.py"), ""),
        (block("ls", "bash"), ""),
        ("print(1)\nprint(2)", "print(1)\nprint(2)"),
        (f"{TICKS}python\na = 1\nb = 2", "a = 1\nb = 2"),
        (block("a = 1") + f"{TICKS}python\nb = 2", "b = 2"),
        (block("s = '''\n```\n'''", ticks="````"), "s = '''\n```\n'''"),
        (f"<think>\n{block('a = 1')}</think>\n{block('a = 2')}", "a = 2"),
        (f"<think>\n{block('a = 1')}</think>I give up.", "I give up."),
        (f"<think>\n{block('a = 1')}", ""),
        (f"  1. {TICKS}\n  {TICKS}python\n  a = 1\n  {TICKS}", "  a = 1"),
        ("", ""),
        (TICKS, ""),
    ],
)
def test_the_program_is_the_last_python_block(completion: str, program: str) -> None:
    assert answer(completion) == program


@pytest.mark.parametrize("piece", ["`", "```", "```python\n", "``` ", "</think>", "\n", "x"])
def test_the_program_is_found_in_time_that_grows_with_the_text(piece: str) -> None:
    def seconds(text: str) -> float:
        began = time.perf_counter()
        answer(text)
        return time.perf_counter() - began

    large = piece * (400_000 // len(piece))
    assert min(seconds(large) for _ in range(3)) < 2.0


ADD = "a, b = map(int, input().split())\nprint(a + b)"
ROW: dict[str, Any] = {"tests": [{"input": "1 2", "output": "3"}, {"input": "-1 1", "output": "0"}]}


@needs_bubblewrap
def test_all_cases_score_one_and_fewer_score_nothing() -> None:
    assert score(block(ADD), **ROW) == {"score": 1.0, "passed": 1.0, "stopped": 0.0}
    assert score(block(ADD.replace("a + b", "abs(a) + b")), **ROW) == {"score": 0.0, "passed": 0.5, "stopped": 0.0}
    assert score(block("print(1 / 0)"), **ROW) == {"score": 0.0, "passed": 0.0, "stopped": 0.0}
    assert score("I do not know.", **ROW)["score"] == 0.0


def test_a_completion_without_a_program_scores_nothing_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "judge", None)
    assert score(block("ls", "bash"), **ROW) == {"score": 0.0, "passed": 0.0, "stopped": 0.0}


@needs_bubblewrap
def test_a_program_has_part_of_the_rewards_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_DEADLINE_S", "1.5")
    began = time.monotonic()
    assert score(block("while True: pass"), **ROW) == {"score": 0.0, "passed": 0.0, "stopped": 1.0}
    assert time.monotonic() - began < 1.5


PROMPT = 'def half(x: float) -> float:\n    """Half of x."""\n'
CHECK = {"test": "def check(candidate):\n    assert candidate(3) == 1.5\n", "entry_point": "half"}


@needs_bubblewrap
@pytest.mark.parametrize(
    "completion",
    [
        "    return x / 2\n",
        block("def half(x): return x / 2"),
        "def half(x):\n    return x / 2",
        block("half = lambda x: x / 2"),
        "    return x / 2",
        block("    return x / 2"),
        block("    return x / 2", ""),
        "It is:\n" + block("    y = x / 2\n    return y\n\ndef other():\n    return 1"),
        block("    return other(x)\n\ndef other(x):\n    return x / 2"),
        "<think>Easy.</think>\n" + block("    return x / 2"),
    ],
)
def test_a_function_may_be_finished_or_written_anew(completion: str) -> None:
    assert score(completion, PROMPT, **CHECK)["score"] == 1.0
    assert score(completion.replace("2", "3"), PROMPT, **CHECK)["score"] == 0.0


@pytest.mark.parametrize(
    ("program", "below"),
    [
        ("    return x / 2", True),
        ("    pattern = '\\d'", True),
        ("TWO = 2", True),
        ("def half(x):\n    return x / 2", False),
        ("async def half(x): pass", False),
        ("if 1:\n    from m import other as half", False),
        ("class Solution:\n    def half(self, x): return x / 2", False),
        ("I do not know.", False),
        ("def half(x", False),
        ("    half(", False),
        ("(" * 10_000, False),
        ("\0", False),
        ("", False),
    ],
)
def test_a_program_goes_below_its_prompt_if_it_lacks_the_function_and_the_two_are_python(
    program: str, below: bool
) -> None:
    assert whole(program, PROMPT, "half") == (PROMPT + program if below else program)
    assert whole(program, PROMPT, "") == whole(program, "Write half.", "half") == program


def test_a_prompt_that_ends_within_a_line_is_gone_on_with_there_or_below() -> None:
    assert whole("x / 2", "def half(x):\n    return ", "half") == "def half(x):\n    return x / 2"
    assert whole("    return x", "def half(x):\n    'd'", "half") == "def half(x):\n    'd'\n    return x"


def test_a_row_without_cases_is_an_error() -> None:
    with pytest.raises(DataError, match="no test cases"):
        score(block(ADD), level=3)


@pytest.mark.parametrize("word", ["auto", "none", "AUTO", ""])
def test_no_word_but_unsafe_runs_a_program_without_a_sandbox(
    word: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Report B38: and it is an error, never a 0."""
    mark = tmp_path / "ran"
    monkeypatch.setenv("STROP_SANDBOX", word)
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.bubblewrap.cache_clear()
    try:
        with pytest.raises((ConfigError, RewardError)):
            score(block(f"open({str(mark)!r}, 'w')"), **ROW)
    finally:
        sandbox.bubblewrap.cache_clear()
    assert not mark.exists()


def test_unsafe_is_said_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_SANDBOX", "unsafe")
    assert score(block(ADD), **ROW)["score"] == 1.0


PAGE = (Path(__file__).parents[2] / "docs" / "code-rewards.md").read_text(encoding="utf-8")


@needs_bubblewrap
@pytest.mark.parametrize("snippet", re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL))
def test_a_snippet_of_the_page_prints_what_it_says(snippet: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(snippet, {})  # noqa: S102
    said = re.findall(r"#> (.*)", snippet)
    assert capsys.readouterr().out.splitlines() == said
