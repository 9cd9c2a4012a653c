r"""The tokens of an answer: LaTeX, plain text and Unicode written one way, in one pass over it.

    \dfrac{1}{2}   ½   \frac12          \frac { 1 } { 2 }     (a digit is one argument: \frac12 is a half)
    3 \cdot x    3×x    3*x             3 * x
    5\text{ cm}    5 cm                 5 "cm                 a leading quote marks words
    1,234   12{,}345   12\,345          1,234   12345  12345  groups with plain commas are left to the reader
    90^\circ   90°   90 degrees         90 "degrees
    \sin 90^\circ                       \sin { \frac { 90 * \pi } { 180 } }

Spaces and what only moves ink are dropped. Nothing else here knows what a token means, so nothing here fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def names(text: str) -> frozenset[str]:
    """The names that a text lists, with spaces between them."""
    return frozenset(text.split())


CHARACTERS: dict[str, str] = {
    **dict.fromkeys("−–—‒﹣", "-"),
    **dict.fromkeys("×✕", r" \times "),
    **dict.fromkeys("·⋅∙•", r" \cdot "),
    **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f", " "),
    **dict.fromkeys("\u200b\u2060\ufeff\u200e\u200f", ""),
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict(zip("₀₁₂₃₄₅₆₇₈₉", (f"_{digit}" for digit in "0123456789"), strict=True)),
    "÷": r" \div ", "∕": "/", "⁄": "/", "√": r" \sqrt ", "∞": r" \infty ", "∪": r" \cup ", "∩": r" \cap ",
    "∈": r" \in ", "∅": r" \emptyset ", "≤": r" \le ", "≥": r" \ge ", "≠": r" \ne ", "±": r" \pm ", "∓": r" \mp ",
    "°": r"^\circ ", "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}",
    "¾": r"\frac{3}{4}", "⅛": r"\frac{1}{8}", "⅜": r"\frac{3}{8}", "⅝": r"\frac{5}{8}", "⅞": r"\frac{7}{8}",
    "⅕": r"\frac{1}{5}", "⅖": r"\frac{2}{5}", "⅗": r"\frac{3}{5}", "⅘": r"\frac{4}{5}", "⅙": r"\frac{1}{6}",
    "⅚": r"\frac{5}{6}", "π": r"\pi ", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "θ": r"\theta ",
    "λ": r"\lambda ", "μ": r"\mu ", "σ": r"\sigma ", "φ": r"\phi ", "ω": r"\omega ", "€": r"\text{euro} ",
    "£": r"\text{gbp} ", "¥": r"\text{yen} ", "₹": r"\text{rupee} ", "¢": r"\text{cent} ",
}  # fmt: skip
TRANSLATION = str.maketrans(CHARACTERS)

COMMANDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        names(
            r"\left \right \big \Big \bigl \bigr \Bigl \Bigr \bigg \Bigg \displaystyle \textstyle \limits \quad "
            r"\qquad \boxed \fbox \! \, \; \: \> \( \) \[ \]"
        ),
        (),
    ),
    "\\": (), "\\ ": (), "\\\n": (),
    **dict.fromkeys(names(r"\dfrac \tfrac \cfrac"), (r"\frac",)),
    **dict.fromkeys(names(r"\dbinom \tbinom \choose"), (r"\binom",)),
    **dict.fromkeys(names(r"\cdot \times \ast"), ("*",)),
    **dict.fromkeys(names(r"\le \leq \leqslant"), ("<=",)),
    **dict.fromkeys(names(r"\ge \geq \geqslant"), (">=",)),
    **dict.fromkeys(names(r"\ne \neq"), ("!=",)),
    **dict.fromkeys(names(r"\lvert \rvert \vert \mid"), ("|",)),
    **dict.fromkeys(names(r"\emptyset \varnothing"), (r"\emptyset",)),
    r"\div": ("/",), r"\lt": ("<",), r"\gt": (">",), r"\lbrace": (r"\{",), r"\rbrace": (r"\}",), r"\%": ("%",),
    r"\langle": ("(",), r"\rangle": (")",), r"\lbrack": ("[",), r"\rbrack": ("]",), r"\degree": ('"degrees',),
    r"\infin": (r"\infty",), r"\$": ('"dollar',), r"\textdollar": ('"dollar',), r"\pounds": ('"pound',),
    r"\euro": ('"euro',), "**": ("^",), "==": ("=",),
}  # fmt: skip

WORDS: dict[str, tuple[str, ...]] = {
    **{name: ("\\" + name,) for name in names("sqrt pi sin cos tan cot sec csc log ln exp infty")},
    **dict.fromkeys(("and", "or"), (",",)),
    **dict.fromkeys(("infinity", "inf", "oo"), (r"\infty",)),
    **dict.fromkeys(("percent", "pct"), ("%",)),
    "union": (r"\cup",),
}  # fmt: skip
"""What bare words stand for."""

SHORT_WORDS = names("yes no odd all dne nan not any one two six ten up it is if")
"""Words of less than four letters that are no products of variables."""
UNIT_WORDS = names("cm mm km kg mg ml mL ft hr hrs min sec lb lbs mi oz yd mph kph kmh in")
"""Units that are known as such right after a number."""

TEXT = names(r"\text \textbf \textit \textrm \textsf \texttt \textnormal \mbox \hbox \emph")
UPRIGHT = names(r"\mathrm \mathbf \mathit \mathsf \operatorname \boldsymbol \bm \underline")

ANGLES = names(r"\sin \cos \tan \cot \sec \csc")
OPENING, CLOSING = ("(", "[", "{"), (")", "]", "}")

NO_LABEL = names(
    r"\not \neg \lnot \lor \land \vee \wedge \to \approx \sim \equiv \notin \mapsto \implies \iff "
    r"\Rightarrow \rightarrow"
)
"""What says more than a name."""
NOT_EQUAL = re.compile(r"\\not\s*=")
DEGREES = re.compile(r"\^\s*(?:\{\s*)?\\circ\b(?:\s*\})?")
THOUSANDS = re.compile(r"(?<=[0-9])(?:\{,\}|,\\!|\\[,;:!])(?=[0-9]{3}(?![0-9]))")
SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")

GROUPED = r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?!,?[0-9])(?:\.[0-9]+)?"
TOKEN = re.compile(
    r"\\(?:begin|end)\s*\{[A-Za-z]{1,12}\*?\}(?:\s*\{[clr|\s]{1,40}\})?"
    rf"|\\[A-Za-z]+|\\.|{GROUPED}"
    r"|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+(?![0-9.]))?"
    r"|<=|>=|!=|==|\*\*|[^\W\d_]+'*|\s+|.",
    re.DOTALL,
)
ARGUMENT = re.compile(r"\s*\{([^{}]*)\}")


def tokens(text: str) -> list[str]:
    """The tokens of an answer. Words are one token that begins with a quote; a letter is a token of its own."""
    text = SUPERSCRIPT.sub(lambda match: f"^{{{match.group().translate(PLAIN_DIGITS)}}}", text)
    text = NOT_EQUAL.sub(r"\\ne ", DEGREES.sub(r"\\text{degrees}", text.translate(TRANSLATION)))
    text = THOUSANDS.sub("", text)
    return in_radians(merged(scan(text, depth=0)))


def scan(text: str, *, depth: int) -> Iterator[str]:
    """The pieces in order; " " stands for a space that may matter between words."""
    place = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        piece, place = (match.group(), match.end()) if match else (text[place], place + 1)
        argument = ARGUMENT.match(text, place) if piece in TEXT or piece in UPRIGHT else None
        if argument:
            place = argument.end()
            yield from written(argument.group(1), upright=piece in UPRIGHT, depth=depth + 1)
        elif piece in COMMANDS:
            yield from COMMANDS[piece]
        elif piece.isspace() or piece == "~":
            yield " "
        elif piece[0].isalpha() and len(piece) > 1:
            yield f"'{piece}"
        elif piece != "$":
            yield piece


def written(content: str, *, upright: bool, depth: int) -> Iterator[str]:
    r"""The tokens of what stands in \text{...}: its words, or what it would be outside if it holds no plain words."""
    words = " ".join(content.split())
    bare = words.strip(" ,").casefold()
    if bare in ("and", "or"):
        yield ","
    elif depth < 3 and (any(sign in content for sign in "0123456789=\\$") or not any(map(str.isalpha, words))):
        yield from scan(content, depth=depth)
    elif bare in WORDS:
        yield from WORDS[bare]
    elif upright and len(words) == 1:
        yield words
    else:
        yield f'"{words}'


def merged(found: Iterator[str]) -> list[str]:
    """Tokens without spaces, bare words told from products of letters, and neighbouring words made one."""
    out: list[str] = []
    spaced = False
    for piece in found:
        if piece == " ":
            spaced = True
            continue
        for each in spelled(piece, out[-1] if out else "", spaced):
            append(out, each, spaced)
        spaced = False
    return out


def append(out: list[str], token: str, spaced: bool) -> None:
    if is_words(token) and out and is_words(out[-1]):
        out[-1] += (" " if spaced else "") + token[1:]
    else:
        out.append(token)


def spelled(token: str, before: str, spaced: bool) -> tuple[str, ...]:
    """A run of letters as what it stands for, as words, or as a product of letters; any other token as it is."""
    if token[0] != "'" or len(token) == 1:
        return (token,)
    run = token[1:].rstrip("'")
    if run.lower() in WORDS:
        return WORDS[run.lower()]
    after_number = before[:1].isdigit() or before[:1] == "."
    if after_number:
        wordy = run in UNIT_WORDS or (spaced and len(run) >= 3)
    else:
        wordy = is_words(before) or len(run) >= 4 or run.casefold() in SHORT_WORDS
    return (f'"{run}',) if wordy else letters(token[1:])


def in_radians(found: list[str]) -> list[str]:
    """The tokens with the degrees of numbers under a function of angles turned into radians."""
    if '"degrees' not in found:
        return found
    out: list[str] = []
    under: list[bool] = []
    for piece in found:
        if piece in OPENING:
            under.append(is_applied(out) or under[-1:] == [True])
        elif piece in CLOSING and under:
            under.pop()
        angle = piece == '"degrees' and out and is_number(out[-1])
        if angle and (under[-1:] == [True] or is_applied(out[-6:-1])):
            out[-1:] = ["{", r"\frac", "{", out[-1], "*", r"\pi", "}", "{", "180", "}", "}"]
        else:
            out.append(piece)
    return out


def is_applied(before: list[str]) -> bool:
    r"""Whether what comes next is the argument of a function of angles: after \sin, \sin^2 and \sin^{2}."""
    if before[-1:] == ["}"] and before[-3:-2] == ["{"]:
        before = [*before[-5:-3], before[-2]]
    name = before[-3:-2] if before[-2:-1] == ["^"] else before[-1:]
    return bool(ANGLES.intersection(name))


def letters(run: str) -> tuple[str, ...]:
    """The letters of a run, a prime with the one before it."""
    return tuple(re.findall(r".'*", run, re.DOTALL))


def is_words(token: str) -> bool:
    return len(token) > 1 and token[0] == '"'


def is_number(token: str) -> bool:
    return token[0].isdigit() or (token[0] == "." and len(token) > 1)


def is_name(token: str) -> bool:
    r"""Whether it is a letter, with primes, or a command such as \alpha; not words and not a number."""
    return token[0].isalpha() or (token[0] == "\\" and token[1:].isalpha())
