r"""math-verify is asked what it can answer, never what would keep it busy, and never with its signals."""

from __future__ import annotations

import threading

import pytest

from strop.rewards.maths_verify import are_equal, ask, exponent_tokens, too_much, without_relations
from strop.rewards.notation import tokens
from strop.rewards.verdict import Judgement


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        (r"\sin\frac{\pi}{6}", r"\frac12", True),
        (r"\sin x", r"\cos x", False),
        (r"y=\sin 2x", r"y=2\sin x\cos x", True),
        (r"\sin 2x=y", r"y=2\sin x\cos x", True),
        (r"y=\sin 2x", r"y=2\sin x", False),
        (r"\sin 2x<y", r"y>2\sin x\cos x", True),
        (r"\sin 2x<y", r"y<2\sin x\cos x", False),
        (r"x=\ln 4", r"2\ln 2", True),
        ("|x|>8", r"(-\infty,-8)\cup(8,\infty)", True),
        ("x ≥ √(3+2√2)", r"x \ge 1+\sqrt{2}", False),
        (r"10^{-31}", r"10^{-30}\sin 1", False),
        (r"\cos 60^\circ", "0.5", True),
        (r"\sin 1", "0.8414709848078965", False),
    ],
)
def test_math_verify_tells_what_is_equal_beyond_polynomials(gold: str, answer: str, right: bool) -> None:
    judgement = ask(gold, answer)
    assert (judgement.right, judgement.by) == (right, "math-verify")


@pytest.mark.parametrize(
    "text",
    [
        r"\sin(9^{9^{9}})",
        r"\foo{9^{9^{9^{9}}}}",
        r"\foo 10^{100000}",
        r"\foo (x+1)^{41}",
        r"\foo x^{30}+y^{30}",
        r"\begin{pmatrix}x&1\\1&1\end{pmatrix}^{100}",
        "e^{e^{e^{e}}}",
        r"\exp(\exp(\exp 2))",
        "2^3^4",
        r"\foo 1000000!",
        r"\foo(10^6)!",
        r"\binom{100000}{500}\foo",
        r"\int_0^1 x dx",
        r"\sum_{k=1}^{n} k",
        r"\lim_{x \to 0} x",
        r"\sqrt{" * 20 + "x" + "}" * 20,
        "x" * 301,
        "x+" * 70 + "x",
    ],
)
def test_what_would_keep_it_busy_is_not_asked(text: str) -> None:
    """Report B34 (a), https://github.com/areal-project/AReaL/pull/1426."""
    assert too_much(text)
    assert ask("1", text) == Judgement(False, too_much(text), "nobody")
    assert ask(text, "1") == Judgement(False, too_much(text), "nobody")


@pytest.mark.parametrize(
    "text", [r"x^{20}+\sin x", "2^{1000}", "e^{x^2}", "n!", r"10! \sin 1", r"\exp(x)", r"\frac{\pi}{1009}"]
)
def test_what_answers_look_like_is_asked(text: str) -> None:
    assert too_much(text) == ""


@pytest.mark.parametrize(
    ("gold", "answer", "pairs"),
    [
        ("a", "b", [("a", "b")]),
        ("x=b", "c", [("b", "c")]),
        ("c", "f(x)=b", [("c", "b")]),
        ("x=a=b", "c", [("b", "c")]),
        ("x=a=b", "y=e", [("b", "e")]),
        ("x^2+y^2=4", "c", []),
        ("x=3, y=4", "x^2+y^2=4", []),
        ("a+1=b", "c=d", [("(a+1)-(b)", "(c)-(d)"), ("(a+1)-(b)", "(d)-(c)")]),
        (r"a<b", r"c\gt d", [("(a)-(b)", "(d)-(c)")]),
        (r"a\le b", "c<=d", [("(a)-(b)", "(c)-(d)")]),
        ("a<b", r"c\le d", []),
        ("a<b", "c=d", []),
        ("a<b<c", "d<e", []),
        ("|x|<b", "(-b,b)", [("|x|<b", "(-b,b)")]),
        ("(-b,b)", "|x|<b", []),
        (r"a\ne b", r"c\neq d", [("(a)-(b)", "(c)-(d)"), ("(a)-(b)", "(d)-(c)")]),
    ],
)
def test_it_is_asked_about_differences_and_solves_nothing(gold: str, answer: str, pairs: list[tuple[str, str]]) -> None:
    assert without_relations(gold, answer) == pairs


def test_an_equation_that_takes_minutes_to_solve_is_told_at_once() -> None:
    assert not ask("x^2=4", r"x^{3}+xy^{2}=\sqrt{x+y}+7").right


def test_an_exponent_is_a_group_or_one_token_with_its_sign() -> None:
    assert exponent_tokens(tokens("x^{2^{3}}+1"), 2) == ["{", "2", "^", "{", "3", "}", "}"]
    assert exponent_tokens(tokens("x^-2+1"), 2) == ["-", "2"]
    assert exponent_tokens(tokens("x^"), 2) == []
    assert exponent_tokens(tokens("x^{2"), 2) == ["{", "2"]


def test_it_answers_outside_of_the_main_thread_where_signals_do_not_work() -> None:
    """Report B34 (a): no ValueError about threads."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(are_equal(r"\ln 4", r"2\ln 2")))
    thread.start()
    thread.join()
    assert found == [True]
