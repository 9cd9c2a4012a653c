r"""What is handed to math-verify: an answer that is one whole expression, as the tokens that were read of it.

Of a text that it cannot parse it takes a part: of 6 \to 5 the 5. So nothing is handed over that has words, arrows or
dots in it, ends with a sign, leaves a bracket open or has two numbers side by side. And since it compares decimals to
six places, it gets each one as the fraction that it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from strop.rewards.expression import FUNCTIONS, GREEK
from strop.rewards.forms import MATRICES, MATRIX, trimmed
from strop.rewards.notation import is_number, names
from strop.rewards.numerals import literal

PAIRS = {")": "(", "]": "(", "}": "{", r"\}": r"\{", r"\rfloor": r"\lfloor", r"\rceil": r"\lceil"}
OPENING, CLOSING = frozenset(["[", *PAIRS.values()]), frozenset(PAIRS)
BETWEEN = names(r"+ - * / ^ _ , = < > <= >= != & \\ \in \cup \cap \setminus \pm \mp")
SIGNS = names(r"+ - \pm \mp")
SETS = names(r"\cup \cap \setminus")
APPLIED = FUNCTIONS | names(r"\frac \sqrt \binom \mathbb")
"""What must be followed by that which it is applied to."""
SYMBOLS = GREEK | names(r"\pi \infty \emptyset")
KNOWN = OPENING | CLOSING | BETWEEN | APPLIED | SYMBOLS | frozenset("!|")
IN_MATRIX = names(r"& \\")


def flaw(found: Sequence[str]) -> str:
    """Why these tokens are not handed over; "" if they are one whole expression."""
    found = trimmed(found)
    if not found or not all(map(is_known, found)):
        return "the answer has something in it that is not read"
    if sum(map(found.count, (r"\pm", r"\mp"))) > 1:
        return "several double signs read two ways"
    plain = simplified(found)
    whole = is_closed(plain) and all(map(fits, ["", *plain], [*plain, ""]))
    return "" if whole else "the answer is no whole expression"


def is_known(token: str) -> bool:
    environment = MATRIX.match(token)
    if environment:
        return environment.group(2) in MATRICES
    return token in KNOWN or token[0].isalpha() or (is_number(token) and "e" not in token.casefold())


def simplified(found: Sequence[str]) -> list[str]:
    r"""The tokens with (x) for |x| and [x], and a function without its exponent or base: \sin 2 of \sin^3 2."""
    plain: list[str] = []
    bars, skipped = 0, -1
    for place, piece in enumerate(found):
        if place == skipped:
            continue
        after = found[place + 1] if place + 1 < len(found) else ""
        if piece in ("^", "_") and plain and plain[-1] in FUNCTIONS and after and after not in OPENING | SIGNS:
            skipped = place + 1
            continue
        bars += piece == "|"
        plain.append({"|": "()"[bars % 2 - 1], "[": "(", "]": ")"}.get(piece, piece))
    return plain


def is_closed(found: Sequence[str]) -> bool:
    """Whether every bracket is closed by one of its kind, and rows and columns end only in a matrix."""
    opened: list[str] = []
    for token in found:
        if token in OPENING or token.startswith("\\begin"):
            opened.append(token)
        elif token in CLOSING or token.startswith("\\end"):
            last = opened.pop() if opened else ""
            if last != PAIRS.get(token, last) or (token not in PAIRS and not last.startswith("\\begin")):
                return False
        elif token in IN_MATRIX and not (opened and opened[-1].startswith("\\begin")):
            return False
    return not opened


def fits(before: str, after: str) -> bool:
    """Whether one token may stand right before another; "" is the beginning and the end."""
    starts = not before or before in OPENING | BETWEEN or before.startswith("\\begin")
    ends = not after or after in CLOSING | BETWEEN | {"!"} or after.startswith("\\end")
    if before in APPLIED and ends:
        return after in ("^", "_") and before in FUNCTIONS
    if ends and (starts or before == "!"):
        signed = starts and after in SIGNS and before not in SIGNS | {"_"}
        factorial = before == "!" and after != "!"
        empty = (before, after) == (r"\{", r"\}") or (before == r"\\" and after.startswith("\\end"))
        return signed or factorial or empty
    if after in SETS:
        return before in CLOSING
    if before in SETS or before == r"\in":
        return after in OPENING or after == r"\mathbb"
    if after in ("_", r"\in"):
        return before[0].isalpha() or before in GREEK
    return starts or before in APPLIED | {"}"} or not after or not is_number(after)


def latex(found: Sequence[str]) -> str:
    """The tokens as LaTeX in dollars, with fractions for decimals.

    Raises:
        TooLarge: a decimal has too many digits.
    """
    found = trimmed(found)
    return "$" + " ".join(map(handed, ["", *found], found)) + "$"


def handed(before: str, token: str) -> str:
    if not is_number(token):
        return token
    if before == r"\frac" and token.isdigit() and len(token) > 1:
        return f"{{{token[0]}}} {{{token[1:]}}}"
    value = literal(token.replace(",", ""))
    if value.denominator > 1:
        return rf"{{\frac{{{value.numerator}}}{{{value.denominator}}}}}"
    return f"{{{value}}}" if before in ("^", "_") else str(value)
