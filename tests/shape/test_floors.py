"""The house: a floor imports downward only, and a heavy library has one door."""

from __future__ import annotations

import pytest

from tests.shape.source import imports, python_files

FLOORS = (
    ("types", "metrics", "errors"),
    ("objective", "reference", "watch"),
    ("algorithms", "batch", "tasks"),
    ("policy", "rollout", "run"),
    ("config",),
    ("evaluate",),
    ("record", "prepare"),
    ("loop",),
    ("assets", "bridges", "check", "cluster"),
    ("cli", "dash"),
    ("__init__",),
)
FLOOR = {name: number for number, floor in enumerate(FLOORS) for name in floor}

DOORS = {
    "matplotlib": ("strop/run/plots.py",),
    "pydantic": ("strop/config/",),
    "ray": ("strop/cluster/",),
    "rich": ("strop/cli/",),
    "transformers": ("strop/policy/model.py", "strop/rollout/engine_hf.py", "strop/assets/tiny/make.py"),
    "trl": ("strop/bridges/",),
    "typer": ("strop/cli/",),
    "verl": ("strop/bridges/",),
    "vllm": ("strop/rollout/engine_vllm.py",),
    "yaml": ("strop/config/",),
}

SOURCES = python_files("strop")


def unit(path: str) -> str:
    """The package or module that a file belongs to: 'objective', 'loop'."""
    return path.split("/")[1].removesuffix(".py")


@pytest.mark.parametrize("path", SOURCES)
def test_a_floor_imports_downward_only_and_never_sideways(path: str) -> None:
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "strop" or len(parts) == 1 or parts[1] == unit(path):
            continue
        target = parts[1] if parts[1] in FLOOR else "__init__"
        assert FLOOR[target] < FLOOR[unit(path)], f"{path} imports {name}"


@pytest.mark.parametrize("path", SOURCES)
def test_a_heavy_library_comes_in_by_its_door(path: str) -> None:
    for name in imports(path):
        doors = DOORS.get(name.split(".")[0], (path,))
        assert path.startswith(doors), f"{path} imports {name}; its door is {' or '.join(doors)}"


def test_every_file_has_a_floor() -> None:
    assert {unit(path) for path in SOURCES} <= set(FLOOR)


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.startswith(("strop/objective/", "strop/reference/"))]
)
def test_the_mathematics_needs_a_tensor_library_and_nothing_else(path: str) -> None:
    import sys

    allowed = {"torch", "numpy", "strop", *sys.stdlib_module_names}
    assert {name.split(".")[0] for name in imports(path)} <= allowed
