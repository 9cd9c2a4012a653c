from __future__ import annotations

import inspect
import re

from strop import errors
from strop.errors import StropError

CLASSES = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, StropError)}


def drawn() -> dict[str, tuple[str, int]]:
    """The tree of the docstring: error -> its parent and its exit code."""
    found: dict[str, tuple[str, int]] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"( {4}[ |'-]*)([A-Z]\w+) +(\d)\b", line)
        if not match:
            continue
        depth = len(match[1])
        path = [(column, name) for column, name in path if column < depth]
        found[match[2]] = (path[-1][1] if path else "Exception", int(match[3]))
        path.append((depth, match[2]))
    return found


def test_the_tree_of_errors_and_their_exit_codes_are_those_that_the_docstring_draws() -> None:
    assert drawn() == {name: (kind.__bases__[0].__name__, kind.exit_code) for name, kind in CLASSES.items()}
    assert len(CLASSES) >= 7


def test_an_exit_code_leaves_0_to_success_and_tells_the_branches_apart() -> None:
    branches = [kind.exit_code for kind in StropError.__subclasses__() if kind.__module__ == errors.__name__]
    assert sorted(branches) == list(range(2, 2 + len(branches)))
    assert StropError.exit_code == 1


def test_every_error_says_what_it_is_for_and_keeps_its_message() -> None:
    for kind in CLASSES.values():
        assert kind.__doc__
        assert str(kind("seed: is odd")) == "seed: is odd"
