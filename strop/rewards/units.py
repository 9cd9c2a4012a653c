"""Units of measure: which ones are known, and how one is turned into another.

A unit is written after a number: cm, square metres, km/h, m/s^2, miles per hour, dollars. One that is not in the table
says nothing: apples, degrees (of an angle, or of which scale), pounds (of weight, or sterling).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

TABLE: dict[tuple[str, int], str] = {
    ("length", 1): "m metre meter; cm=1/100 centimetre centimeter; mm=1/1000 millimetre millimeter; "
                   "km=1000 kilometre kilometer; in=127/5000 inch; ft=381/1250 foot feet; yd=1143/1250 yard; "
                   "mi=201168/125 mile",
    ("length", 3): "l=1/1000 liter litre; ml=1/1000000 milliliter millilitre",
    ("mass", 1): "g gram gramme; kg=1000 kilogram; mg=1/1000 milligram; lb=45359237/100000; "
                 "oz=45359237/1600000 ounce; tonne=1000000",
    ("time", 1): "s sec second; ms=1/1000 millisecond; min=60 minute; h=3600 hr hour; day=86400; week=604800",
    ("money", 1): "dollar usd us$; cent=1/100 ¢",
    ("euro", 1): "euro eur",
    ("forenoon", 1): "am",
    ("afternoon", 1): "pm",
    ("celsius", 1): "celsius degreec degreesc",
    ("fahrenheit", 1): "fahrenheit degreef degreesf",
}  # fmt: skip
"""(dimension, power): its units, each as name=size in metres, grams, seconds, dollars, followed by its other names."""

PHRASES = {
    "mph": "mile per hour", "kph": "km per hour", "kmh": "km per hour", "a.m.": "am", "p.m.": "pm",
    "degrees c": "celsius", "degrees f": "fahrenheit", "degrees celsius": "celsius",
    "degrees fahrenheit": "fahrenheit",
}  # fmt: skip
POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
PART = re.compile(r"[^\W\d_]+\$?|¢|\^\s*-?[1-3]|[/*]")
MOST_PARTS = 8


class Unit(NamedTuple):
    """Powers of dimensions, sorted, and the size of the unit in the first units of these dimensions."""

    dimensions: tuple[tuple[str, int], ...]
    size: Fraction


def known_units() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for dimension, entries in TABLE.items():
        for entry in entries.split(";"):
            first, *others = entry.split()
            name, _, size = first.partition("=")
            units |= dict.fromkeys((name, *others), Unit((dimension,), Fraction(size or 1)))
    return units


UNITS = known_units()


def unit_of(text: str) -> Unit | None:
    """The unit that a text names, or None if a part of it is not known."""
    text = " ".join(text.casefold().split())
    text = PHRASES.get(text, text)
    parts = ["".join(match.group().split()) for match in PART.finditer(text)]
    if not parts or len(parts) > MOST_PARTS or PART.sub("", text).strip():
        return None
    return product_of(parts)


def product_of(parts: list[str]) -> Unit | None:
    powers: dict[str, int] = {}
    size, sign, ahead = Fraction(1), 1, 1
    for place, part in enumerate(parts):
        if part in ("/", "per"):
            sign = -1
        elif part in POWERS:
            ahead = POWERS[part]
        elif part != "*" and part[0] != "^":
            known = UNITS.get(part) or UNITS.get(part.removesuffix("s")) or UNITS.get(part.removesuffix("es"))
            if known is None:
                return None
            ((dimension, base),) = known.dimensions
            after = parts[place + 1] if place + 1 < len(parts) else ""
            power = sign * (int(after[1:]) if after[:1] == "^" else ahead)
            powers[dimension] = powers.get(dimension, 0) + base * power
            size, ahead = size * known.size**power, 1
    return Unit(tuple(sorted((name, power) for name, power in powers.items() if power)), size) if powers else None
