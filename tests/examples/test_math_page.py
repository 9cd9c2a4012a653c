"""docs/math.md: its Python prints what it says, and its table of conventions is what the rewards do."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import tomllib

import pytest

from strop.rewards import maths_verify, verdict
from strop.rewards.builtin import BUILTIN
from strop.rewards.extract import LONGEST_WHOLE
from strop.rewards.maths import verdict as of_completion
from tests.shape.source import ROOT

PAGE = (ROOT / "docs" / "math.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (right|wrong|not told) \| (.*) \|$", PAGE, flags=re.MULTILINE)
PAIRS = tomllib.loads((ROOT / "tests" / "rewards" / "math_verdicts.toml").read_text(encoding="utf-8"))["pair"]


@pytest.mark.parametrize("block", PYTHON)
def test_the_python_prints_what_the_page_says(block: str) -> None:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(block, {})  # noqa: S102  the page's own snippet
    assert shown.getvalue().splitlines() == re.findall(r"^#> (.*)$", block, flags=re.MULTILINE)


@pytest.mark.parametrize(("gold", "answer", "word", "why"), ROWS)
def test_a_convention_of_the_page_is_what_the_reward_does(gold: str, answer: str, word: str, why: str) -> None:
    judgement = of_completion(gold, rf"\boxed{{{answer}}}")
    assert (judgement.right, judgement.by) == (word == "right", "nobody" if word == "not told" else "exact")


@pytest.mark.slow
@pytest.mark.parametrize(("gold", "answer", "word", "why"), ROWS)
def test_math_verify_has_the_convention_unless_the_page_says_that_it_has_not(
    gold: str, answer: str, word: str, why: str
) -> None:
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    module = maths_verify.load()
    alone = module.verify(module.parse(f"${gold}$"), module.parse(rf"\boxed{{{answer}}}"))
    assert (alone is (word == "right")) is ("math-verify" not in why)


def test_its_numbers_are_the_code_s() -> None:
    assert len(PYTHON) == 3
    assert len(ROWS) >= 40
    assert f"has {len(PAIRS)} pairs" in PAGE
    marked = sum(pair.get("math_verify_errs", False) for pair in PAIRS)
    assert f"it differs in the {marked} that are marked" in PAGE
    limits = maths_verify.LARGEST_POWERS
    assert f"exponents above {limits['number']:,} of a\nnumber or {limits['expression']} of an expression" in PAGE
    assert f"more than {maths_verify.LONGEST} characters, or of {verdict.LONGEST:,} for the exact" in PAGE
    assert f"one line of at most {LONGEST_WHOLE} characters" in PAGE
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE))
    assert named & set(BUILTIN) == set(BUILTIN) - {"code"}
