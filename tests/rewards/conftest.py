"""What needs a peer runs where that peer is installed."""

from __future__ import annotations

from tests.bridges.conftest import pytest_collection_modifyitems

__all__ = ["pytest_collection_modifyitems"]
