r"""LaTeX, plain text and Unicode become the same tokens."""

from __future__ import annotations

import pytest
from hypothesis import given

from strop.rewards.notation import is_name, is_number, is_words, tokens
from tests.rewards.answers import ANY_TEXT


@pytest.mark.parametrize(
    ("written", "alike"),
    [
        (r"\dfrac{1}{2}", r"\frac{1}{2}"),
        ("½", r"\tfrac{1}{2}"),
        ("3×4÷2", r"3 \times 4 \div 2"),
        ("3·4", "3 * 4"),
        ("−5", "-5"),
        ("12{,}345", "12345"),
        (r"12\,345", "12345"),
        (r"12,\!345", "12345"),
        ("x²", "x^{2}"),
        ("x¹⁰", "x^{10}"),
        ("x₁", "x_1"),
        ("√2", r"\sqrt2"),
        ("sqrt(2)", r"\sqrt(2)"),
        ("2*pi", r"2 \cdot \pi"),
        ("2π", r"2\pi"),
        ("x**2", "x^2"),
        ("90°", r"90^{\circ}"),
        ("90 degrees", r"90^\circ"),
        (r"\sin 30^\circ", r"\sin{\frac{30*\pi}{180}}"),
        (r"\cos^2(30^\circ+x)", r"\cos^2({\frac{30*\pi}{180}}+x)"),
        (r"\tan^{2} 45°", r"\tan^{2}{\frac{45*\pi}{180}}"),
        ("25%", r"25\%"),
        ("25 percent", r"25\text{ percent}"),
        ("x ≤ 5", r"x \leq 5"),
        ("x <= 5", r"x \le 5"),
        (r"x \not= 5", r"x \ne 5"),
        (r"\left( 1, 2 \right]", "(1,2]"),
        (r"\lbrace 1 \rbrace", r"\{1\}"),
        ("１２", "12"),
        ("$x$", r"\(x\)"),
        (r"\text{13}", "13"),
        (r"1 \text{ and } 2", "1, 2"),
        ("1 or 2", "1, 2"),
        (r"\mathrm{e}^2", "e^2"),
        ("infinity", r"\infty"),
        ("5 cm", r"5\text{ cm}"),
        ("5 apples", r"5\text{apples}"),
        ("no real solution", r"\text{no  real solution}"),
    ],
)
def test_what_means_the_same_has_the_same_tokens(written: str, alike: str) -> None:
    assert tokens(written) == tokens(alike)


@pytest.mark.parametrize(
    ("written", "different"),
    [
        ("12,34", "1234"),
        ("1, 234", "1234"),
        ("1,2345", "12345"),
        ("1,234,5", "12345"),
        ("0,123", "0123"),
        ("5men", "5 men"),
        ("2abcd", "2 abcd"),
        ("xy", "x y z"),
        (r"\frac{1}{23}", r"\frac{12}{3}"),
        ("2e3", "2e^3"),
        (r"\sin 30^\circ", r"\sin 30"),
        (r"x 30^\circ", r"x{\frac{30*\pi}{180}}"),
        (r"\sin(x) 30^\circ", r"\sin(x){\frac{30*\pi}{180}}"),
        (r"\ln 30^\circ", r"\ln{\frac{30*\pi}{180}}"),
    ],
)
def test_what_means_something_else_has_other_tokens(written: str, different: str) -> None:
    assert tokens(written) != tokens(different)


def test_words_letters_and_numbers_are_told_apart() -> None:
    assert tokens("Monday") == ['"Monday']
    assert tokens("mgh") == ["m", "g", "h"]
    assert tokens("yes") == ['"yes']
    assert tokens("f'(x)") == ["f'", "(", "x", ")"]
    assert tokens("1,234") == ["1,234"]
    assert tokens("1.5e3") == ["1.5e3"]
    assert tokens(r"\begin{pmatrix}1&2\\3&4\end{pmatrix}")[:2] == [r"\begin{pmatrix}", "1"]
    assert [is_words('"ab'), is_words('"'), is_words("a")] == [True, False, False]
    assert [is_number("12"), is_number(".5"), is_number("."), is_number("x")] == [True, True, False, False]
    assert [is_name("x'"), is_name(r"\alpha"), is_name(r"\{"), is_name("1")] == [True, True, False, False]


@given(ANY_TEXT)
def test_any_text_has_tokens_and_none_is_empty(text: str) -> None:
    assert all(tokens(text))


@given(ANY_TEXT)
def test_spaces_at_the_ends_and_dollars_around_change_nothing(text: str) -> None:
    assert tokens(f"  {text}  ") == tokens(text)
    if "\\" not in text:
        assert tokens(f"${text}$") == tokens(text)
