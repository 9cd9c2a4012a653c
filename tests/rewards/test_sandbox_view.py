"""What a program sees is laid out from nothing: libraries read-only, a small /tmp, and a user who owns nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from strop.rewards import sandbox_view
from strop.rewards.sandbox_view import LONE_USERS, NOBODY, folders, library, lone_user, packages, python, view


def values(arguments: list[str], option: str) -> list[str]:
    return [arguments[place + 1] for place, word in enumerate(arguments) if word == option]


@pytest.mark.parametrize("as_root", [True, False])
def test_everything_bound_is_read_only_but_for_five_devices(as_root: bool) -> None:
    arguments = view(64, as_root=as_root)
    assert not {"--bind", "--bind-try", "--dev", "--proc", "--share-net"} & set(arguments)
    assert len(values(arguments, "--dev-bind")) == 5
    assert values(arguments, "--tmpfs") == ["/tmp"]  # noqa: S108
    assert values(arguments, "--size") == [str(64 * 2**20)]
    assert values(arguments, "--remount-ro") == ["/"]
    assert set(values(arguments, "--ro-bind")) == {"/usr", *library()}


def test_root_keeps_what_it_needs_to_become_another_and_a_user_makes_a_namespace() -> None:
    root, user = view(64, as_root=True), view(64, as_root=False)
    assert values(root, "--cap-drop") == ["ALL"]
    assert values(root, "--cap-add") == ["CAP_SETUID", "CAP_SETGID"]
    assert "--unshare-user" not in root
    assert {"--unshare-user", "--disable-userns"} <= set(user)
    assert values(user, "--uid") == [str(NOBODY)]


def test_the_library_is_this_pythons_and_nothing_twice() -> None:
    assert all(Path(path).exists() for path in library())
    assert not any(Path(a).is_relative_to(b) for a in library() for b in ("/usr", *library()) if a != b)
    shown = ("/usr", *library())
    for path in (python(), os.__file__, *packages()):
        assert any(Path(path).is_relative_to(up) for up in shown), path


def test_the_program_is_the_python_below_the_virtual_environment() -> None:
    assert not os.path.islink(python())
    assert Path(python()).is_relative_to(sys.base_prefix)


def test_what_stands_above_the_library_is_passed_through_by_anyone() -> None:
    arguments = view(64, as_root=True)
    made = {
        arguments[place + 3]
        for place, word in enumerate(arguments)
        if word == "--perms" and "--dir" in arguments[place + 2]
    }
    assert made == set(folders())
    assert all(str(up) in made for path in library() for up in Path(path).parents if str(up) != "/")


@pytest.mark.parametrize(
    ("maps", "allowed"),
    [
        ("0 0 4294967295", LONE_USERS),
        ("0 100000 65536", [NOBODY]),
        ("0 1000 1", [0]),
        ("0 1000 1\n1 100000 65536", [NOBODY]),
    ],
)
def test_root_becomes_a_user_that_its_namespace_has(
    maps: str, allowed: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "map").write_text(f"{maps}\n")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sandbox_view, "open", lambda *_, **__: (tmp_path / "map").open(), raising=False)
    assert lone_user() in allowed


def test_two_programs_of_root_are_two_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "map").write_text("0 0 4294967295\n")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sandbox_view, "open", lambda *_, **__: (tmp_path / "map").open(), raising=False)
    assert len({lone_user() for _ in range(8)}) == 8


def test_a_plain_user_stays_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert lone_user() == 0
