"""Settings: `schema.py` says what they may be, `load.py` reads them, `check.py` refuses what contradicts itself."""

from __future__ import annotations

from strop.config.schema import Config

__all__ = ["Config"]
