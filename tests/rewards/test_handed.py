r"""math-verify gets whole expressions, and gets what was read of them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given

from strop.rewards.exact import TooLarge
from strop.rewards.handed import flaw, latex
from strop.rewards.notation import tokens
from tests.rewards.answers import ANY_TEXT


@pytest.mark.parametrize(
    "text",
    [
        r"6 \to 5",
        r"6 \Rightarrow 5",
        "6 ⇒ 5",
        r"5-\text{no}",
        r"\sin 1 \text{ is wrong}",
        "5...",
        r"5 \ldots",
        "5…",
        r"6 \\ 5",
        "6 & 5",
        r"6 \mid 5",
        "5||",
        "6 5",
        "x 5",
        "6_5",
        "(6)5",
        "5-",
        "*5",
        "5^",
        "2**^3",
        r"5 \sin",
        r"\sin",
        r"\log_{} 5",
        r"\sqrt{}",
        "(5",
        "5)",
        "{5)",
        r"\lfloor 5)",
        r"6 \cap 5",
        r"6 \in 5",
        r"x \in 5",
        r"\pm 5 \pm 6",
        "5?",
        "5''",
        "5@6",
        r"5 \%",
        r"5!!",
        "1e5",
        r"6 \approx 5",
        r"\foo 5",
        r"\begin{cases}6\\5\end{cases}",
        r"\begin{pmatrix}6\\5",
        r"\end{pmatrix}6\begin{pmatrix}",
        "",
        "...",
    ],
)
def test_what_is_no_whole_expression_is_not_handed_over(text: str) -> None:
    assert flaw(tokens(text))


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "-5",
        "x=-1",
        r"\sin 1",
        r"\sin^2 x+\cos^{2} 5x",
        r"\log_2 8",
        r"\log_{2} 8",
        r"\tan^{-1} 2",
        r"\frac12+\frac{1}3",
        r"\sqrt[3]{2+\sqrt5}",
        r"|x-1|+|y|",
        "n!",
        "x_1^2",
        r"\lfloor \sin 1 \rfloor",
        r"(-\infty,1)\cup(2,3]",
        r"\mathbb{R}\setminus\{0\}",
        r"x \in [1,2)",
        r"1 \pm \sin 1",
        r"\{\}",
        r"\begin{pmatrix}\sin 1 & 2 \\ 3 & 4 \\ \end{pmatrix}",
        "1/2x",
        "x=1, y<2",
        r"\cos 60^\circ",
        r"\ln 2.",
    ],
)
def test_a_whole_expression_is_handed_over(text: str) -> None:
    assert flaw(tokens(text)) == ""


@pytest.mark.parametrize(
    ("text", "handed"),
    [
        ("0.5", r"${\frac{1}{2}}$"),
        ("2.0", "$2$"),
        ("1,234", "$1234$"),
        ("x^10", "$x ^ {10}$"),
        ("x^0.5", r"$x ^ {\frac{1}{2}}$"),
        (r"\frac12", r"$\frac {1} {2}$"),
        (r"\frac{12}{5}", r"$\frac { 12 } { 5 }$"),
        ("sin x.", r"$\sin x$"),
    ],
)
def test_a_decimal_is_handed_over_as_its_fraction(text: str, handed: str) -> None:
    assert latex(tokens(text)) == handed


def test_a_decimal_of_too_many_digits_is_refused() -> None:
    with pytest.raises(TooLarge):
        latex(["0." + "1" * 5_000])


@given(ANY_TEXT)
def test_any_text_is_handed_over_or_not(text: str) -> None:
    assert isinstance(flaw(tokens(text)), str)


@pytest.mark.parametrize("unit", ["(", "|", r"\sin", r"\sin^2", "x_1", r"\sin(30^\circ", "{}", r"\begin{pmatrix}"])
def test_a_text_is_looked_through_in_one_pass(unit: str) -> None:
    few, many = (cost(unit * (size // len(unit))) for size in (5_000, 20_000))
    assert many <= 8 * few + 0.05


def cost(text: str) -> float:
    """Processor seconds, the least of three times."""
    spent = []
    for _ in range(3):
        start = time.process_time()
        flaw(tokens(text))
        spent.append(time.process_time() - start)
    return min(spent)
