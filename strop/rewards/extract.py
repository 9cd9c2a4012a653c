r"""Where a completion says its answer: the text inside the last of its carriers, in one pass over it.

    block    <answer> ... </answer>                  what stands in it is searched for the others
    box      \boxed{...} or \fbox{...}               nested and escaped braces are counted
    hash     #### ...                                to the end of the line, as GSM8K writes it
    phrase   the answer is ...   Final answer: ...   to the end of the sentence
    bold     **...**
    whole    a completion of one short line, unless it is a calculation without its result: that may be the question
    number   the last number; asked for only from Python

The last one of its kind wins: a withdrawn box is forgotten, and two boxes are never read as one. A block or a box that
is opened last and never closed is no answer, whatever stood before it: the completion was cut off while it gave one.

Only what follows the last </think> is searched. A <think> there that is not closed leaves no answer: the completion was
cut off in thought.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

USUAL = ("block", "box", "phrase", "hash", "bold", "whole")
GOLD = ("box", "hash")
"""What is looked for in a right answer, which may be a whole solution."""
IN_BLOCK = ("box", "phrase", "hash")

BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
BRACE = re.compile(r"\\\\?(?:boxed|fbox)\s*\{|\\.|[{}]", re.DOTALL)
BLOCK = re.compile(r"</?answer>")
PHRASE = re.compile(r"\b(?:answer|correct option|correct choice)\b[^\n:=.]{0,60}?(?:\bis\b|[:=])", re.IGNORECASE)
BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
NUMBER = re.compile(
    r"(?:(?<![\w)}\]])-)?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:/[0-9]+)?%?"
)
SENTENCE_END = re.compile(r"(?<!\.)[.!?](?=\s|$)|\n|\s(?:because|since|as|so|which|where|when|therefore|for)\b")
CALCULATION = re.compile(r"[0-9)}]\s*(?:[-+*×÷−]|\\times|\\cdot|\\div)\s*(?!10\s*(?:\^|\*\*))[0-9({\\]")
AROUND = " \t\r\n*`_:"
THOUGHT, THOUGHT_END = "<think>", "</think>"
LONGEST_WHOLE = 200


class Found(NamedTuple):
    """An answer and where its carrier ends; `text` is "" where the carrier is there and gives no answer."""

    text: str
    end: int


def answer_text(completion: str, carriers: Sequence[str] = USUAL) -> str:
    """The answer that a completion gives, as it is written, or "" if it gives none.

    Of a block and a box the one that ends later counts; the others are looked for in the order of `carriers`, each
    only where those before it are not there.
    """
    found = find(after_thought(completion), carriers)
    return found.text if found else ""


def after_thought(completion: str) -> str:
    """What a completion says behind its last </think>; "" if it is in thought again when it ends."""
    said = completion.rpartition(THOUGHT_END)[2]
    return "" if THOUGHT in said else said


def gold_text(gold: str) -> str:
    """The answer in a right answer: its last box or its last `####`, or the whole of it if it has neither."""
    found = find(gold, GOLD)
    return found.text if found else gold.strip()


def find(text: str, carriers: Sequence[str]) -> Found | None:
    strong = [found for name in STRONG if name in carriers and (found := CARRIERS[name](text))]
    if strong:
        return max(strong, key=lambda found: found.end)
    others = (CARRIERS[name](text) for name in carriers if name not in STRONG)
    return next((found for found in others if found), None)


def last_box(text: str) -> Found | None:
    r"""The content of the box that closes last: x^{2^{3}} of \boxed{x^{2^{3}}}; the outer one of nested boxes."""
    first = BOX.search(text)
    if first is None:
        return None
    groups: list[tuple[int, bool]] = []
    latest, span = -1, (0, 0)
    for match in BRACE.finditer(text, max(first.start() - 1, 0)):
        brace = match.group()
        if brace == "}" and groups:
            start, boxed = groups.pop()
            span = (start, match.start()) if boxed else span
            latest = -1 if start == latest else latest
        elif brace[-1] == "{" and brace != r"\{":
            groups.append((match.end(), len(brace) > 1))
            latest = match.end() if len(brace) > 1 else latest
    return Found("", len(text)) if latest >= 0 else Found(text[slice(*span)].strip(), span[1])


def last_block(text: str) -> Found | None:
    marks = list(BLOCK.finditer(text))
    if not any(mark.group() == "<answer>" for mark in marks):
        return None
    opening = max(place for place, mark in enumerate(marks) if mark.group() == "<answer>")
    if opening + 1 == len(marks):
        return Found("", len(text))
    content = text[marks[opening].end() : marks[opening + 1].start()]
    inside = find(content, IN_BLOCK)
    return Found(inside.text if inside else cleaned(content), marks[opening + 1].end())


def last_hash(text: str) -> Found | None:
    start = text.rfind("####")
    if start < 0:
        return None
    return Found(cleaned(text[start:].lstrip("#").split("\n", 1)[0]), len(text))


def last_phrase(text: str) -> Found | None:
    last = None
    for match in PHRASE.finditer(text):
        last = match
    if last is None:
        return None
    rest = text[last.end() :].lstrip(AROUND)
    stop = SENTENCE_END.search(rest)
    return Found(cleaned(rest[: stop.start()] if stop else rest), len(text))


def last_bold(text: str) -> Found | None:
    last = None
    for match in BOLD.finditer(text):
        last = match
    return Found(cleaned(last.group(1)), last.end()) if last else None


def whole(text: str) -> Found | None:
    line = text.strip()
    if not 0 < len(line) <= LONGEST_WHOLE or "\n" in line or (CALCULATION.search(line) and "=" not in line):
        return None
    return Found(cleaned(line), len(text))


def last_number(text: str) -> Found | None:
    last = None
    for match in NUMBER.finditer(text):
        last = match
    return Found(last.group(), last.end()) if last else None


def cleaned(text: str) -> str:
    """The text without the marks of bold and code around it and the full stop after it."""
    text = text.strip(AROUND)
    return text if text.endswith("..") else text.removesuffix(".").strip(AROUND)


STRONG = ("block", "box")
CARRIERS: dict[str, Callable[[str], Found | None]] = {
    "block": last_block,
    "box": last_box,
    "hash": last_hash,
    "phrase": last_phrase,
    "bold": last_bold,
    "whole": whole,
    "number": last_number,
}
