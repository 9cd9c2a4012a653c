"""The embedded models, by name: each is a folder of this package with the settings that it is trained with."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

PREFIX = "strop:"
SETTINGS = "train.yaml"


def names() -> list[str]:
    """Every embedded model, as a configuration names it: ["strop:tiny"]."""
    folders = resources.files(__name__).iterdir()
    return sorted(f"{PREFIX}{entry.name}" for entry in folders if entry.joinpath(SETTINGS).is_file())


def settings(name: str) -> str:
    """The text of the settings that an embedded model is trained with; "" for a name that is no embedded model."""
    return folder(name).joinpath(SETTINGS).read_text("utf-8") if name in names() else ""


def folder(name: str) -> Traversable:
    """Where an embedded model lies. It need not be one of `names`."""
    return resources.files(__name__) / name.removeprefix(PREFIX)
