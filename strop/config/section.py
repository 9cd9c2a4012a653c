"""What a section of settings is made of: frozen models that accept nothing else, and keys that say what they mean."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def whole(value: Any) -> Any:
    """1e3 is read as the float 1000.0, and means the whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(whole)]
Choice = str | dict[str, Any]
"""One of a row's choices: the name of a kind, or {"kind": name, field: value, ...}. "" keeps the row's own."""


def setting(default: Any, text: str, **bounds: Any) -> Any:
    """A key: its default, what it means, and its bounds."""
    if callable(default):
        return Field(default_factory=default, description=text)
    return Field(default, description=text, **bounds)


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
