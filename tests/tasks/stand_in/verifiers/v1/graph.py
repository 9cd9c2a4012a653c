from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class MessageNode(BaseModel):
    parent: int | None = None
    message: Any
    sampled: bool = False
