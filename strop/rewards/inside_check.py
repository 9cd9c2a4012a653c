"""What runs a row's tests, in a sandbox where the program that they test is not: its functions are called from here.

It is loaded by strop.rewards.inside, which is `__main__` there. Arguments and results travel as plain data. A value of
any other kind stays with the program and is a Remote here, which is equal to nothing but itself: so a program can give
right results, and nothing that passes for them.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import json
import sys
from typing import Any

inside: Any = sys.modules["__main__"]


class Broken(Exception):
    """The test asks for what cannot be done here: no program could pass it."""


class Nothing(list[Any]):
    """Keeps no value: what a test hands to the program must be plain data."""

    def append(self, value: Any) -> None:
        raise Broken(f"a test hands {type(value).__name__} to the program; only plain data can be handed over")


class Remote(inside.Handle):
    """A value that stays with the program. It can be called, asked for parts, and turned into text, truth or a list."""

    def __call__(self, *places: Any, **names: Any) -> Any:
        return asked("call", self, places, names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return asked("get", self, [name])

    def __getitem__(self, place: Any) -> Any:
        return asked("item", self, [place])

    def __iter__(self) -> Any:
        return iter(asked("list", self))

    def __len__(self) -> int:
        return asked("len", self)

    def __bool__(self) -> bool:
        return asked("bool", self)

    def __str__(self) -> str:
        return asked("str", self)

    def __repr__(self) -> str:
        return asked("repr", self)


def asked(what: str, on: Remote, places: Any = (), names: dict[str, Any] | None = None) -> Any:
    """What the program answers; what it raises is raised here, by a built-in exception of that name if there is one."""
    nothing = Nothing()
    message = {
        "do": what,
        "on": {"handle": on.number},
        "args": [inside.packed(value, nothing) for value in places],
        "names": {name: inside.packed(value, nothing) for name, value in (names or {}).items()},
    }
    inside.lines.answer({"ask": message})
    answer = inside.lines.request()
    if "value" in answer:
        return inside.unpacked(answer["value"], Remote)
    name, text = answer["raised"]
    kind = getattr(builtins, str(name), None)
    known = isinstance(kind, type) and issubclass(kind, Exception)
    raise kind(text) if known and kind not in NOT_OF_TEXT else RuntimeError(f"{name}: {text}")  # type: ignore[misc]


NOT_OF_TEXT = (UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError, ExceptionGroup, BaseExceptionGroup)
"""Built-in exceptions that are not made of one text."""


def check(number: int, text: str, names: str, modules: list[str]) -> str:
    """Run one test; "" if it holds, else what it raised. `names` are the program's, packed, as JSON.

    Raises:
        Broken: it can hold for no program.
    """
    home = f"test_{number}"
    with open(f"{home}.py", "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location(home, f"{home}.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[home] = module
    try:
        vars(module).update({name: importlib.import_module(name) for name in modules})
        vars(module).update({name: inside.unpacked(value, Remote) for name, value in json.loads(names).items()})
        spec.loader.exec_module(module)  # type: ignore[union-attr]
    except Broken:
        raise
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""
