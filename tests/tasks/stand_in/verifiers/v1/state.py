from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel


class State(BaseModel):
    pass


def concrete(kind: type, base: type) -> Any:
    """The type argument of a generic class that is below `base`, wherever it was given."""
    origins = [origin for each in kind.__mro__ for origin in getattr(each, "__orig_bases__", ())]
    arguments = [argument for origin in origins for argument in get_args(origin) if isinstance(argument, type)]
    return next((argument for argument in arguments if issubclass(argument, base)), None)


def state_cls(kind: type) -> Any:
    return concrete(kind, State) or State
