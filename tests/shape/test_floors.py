"""The house: a floor imports downward only, and a heavy library has one door."""

from __future__ import annotations

import pytest

from tests.shape.source import imports, python_files

FLOORS = (
    ("types", "metrics", "errors", "names", "packing", "assets"),
    ("objective", "reference", "rewards", "watch"),
    ("algorithms", "batch", "tasks"),
    ("policy", "rollout", "run"),
    ("config",),
    ("evaluate",),
    ("record", "prepare", "sampler"),
    ("loop",),
    ("assets.tiny", "check", "cluster", "plan"),
    ("bridges",),
    ("cli", "dash"),
    ("__init__", "__main__"),
)
FLOOR = {name: number for number, floor in enumerate(FLOORS) for name in floor}

DOORS = {
    "datasets": ("strop/tasks/",),
    "math_verify": ("strop/rewards/",),
    "matplotlib": ("strop/run/plots.py",),
    "peft": ("strop/policy/",),
    "pydantic": ("strop/config/",),
    "ray": ("strop/cluster/",),
    "reasoning_gym": ("strop/tasks/",),
    "rich": ("strop/cli/",),
    "tensorboard": ("strop/run/",),
    "trackio": ("strop/run/",),
    "transformers": ("strop/policy/model.py", "strop/rollout/engine_hf.py", "strop/assets/tiny/make.py"),
    "trl": ("strop/bridges/",),
    "typer": ("strop/cli/",),
    "verifiers": ("strop/tasks/",),
    "verl": ("strop/bridges/",),
    "vllm": ("strop/rollout/engine_vllm.py",),
    "wandb": ("strop/run/",),
    "yaml": ("strop/config/",),
}

SOURCES = python_files("strop")


def unit(path: str) -> str:
    """The package or module that a file belongs to: 'objective', 'loop'."""
    return unit_of(path.removesuffix(".py").split("/"))


def unit_of(parts: list[str]) -> str:
    """The same from the parts of a dotted name. What makes an embedded model uses the house; its name uses nothing."""
    return "assets.tiny" if parts[1:3] == ["assets", "tiny"] else parts[1]


@pytest.mark.parametrize("path", SOURCES)
def test_a_floor_imports_downward_only_and_never_sideways(path: str) -> None:
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "strop" or len(parts) == 1 or unit_of(parts) == unit(path):
            continue
        target = unit_of(parts) if unit_of(parts) in FLOOR else "__init__"
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
