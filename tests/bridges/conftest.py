"""A test marked peer("trl") runs where TRL is installed, and is not collected anywhere else."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    absent = [item for item in items if (peer := item.get_closest_marker("peer")) and find_spec(peer.args[0]) is None]
    if absent:
        config.hook.pytest_deselected(items=absent)
        items[:] = [item for item in items if item not in absent]
