"""What a program in bubblewrap sees: the arguments that lay out its files, and the user that it is."""

from __future__ import annotations

import os
import random
import site
import sys
from functools import cache
from pathlib import Path

NOBODY = 65534
LONE_USERS = range(0x70000000, 0x7FFFFFFF)
"""User ids that no system gives away (systemd's table of them), one for each program: so that limits counted by user
are counted by program."""

DEVICES = ("null", "zero", "full", "random", "urandom")
SPACES = ("--unshare-ipc", "--unshare-net", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
ROOT_RIGHTS = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
"""What root keeps until it has become the lone user."""

USER_RIGHTS = ("--unshare-user", "--disable-userns", "--uid", str(NOBODY), "--gid", str(NOBODY))


def lone_user() -> int:
    """The user id that root is to give up its own for; 0 if this process cannot, and a user namespace must do.

    Root in a container may have few ids: then it is nobody.
    """
    if os.geteuid() != 0:
        return 0
    with open("/proc/self/uid_map", encoding="ascii") as file:
        maps = [[int(word) for word in line.split()] for line in file]
    if any(first <= LONE_USERS[0] and LONE_USERS[-1] < first + count for first, _, count in maps):
        return random.SystemRandom().choice(LONE_USERS)
    return NOBODY if any(first <= NOBODY < first + count for first, _, count in maps) else 0


def python() -> str:
    """This Python's own program, below the virtual environment if there is one."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


@cache
def packages() -> tuple[str, ...]:
    """Where the packages of this environment are."""
    return tuple(path for path in site.getsitepackages() if os.path.isdir(path))


@cache
def library() -> tuple[str, ...]:
    """The program, libraries and packages of this Python, but for what is below another of them, or below /usr."""
    homes = {os.path.join(home, "lib") for home in (sys.base_prefix, sys.base_exec_prefix)}
    store = {"/nix/store"} if python().startswith("/nix/store/") else set()
    wanted = sorted({python(), *homes, *packages(), *store})
    return tuple(
        path
        for path in wanted
        if os.path.exists(path) and not any(Path(path).is_relative_to(up) for up in ("/usr", *wanted) if up != path)
    )


@cache
def folders() -> tuple[str, ...]:
    """The folders above what is shown, which must be made so that any user may pass through them."""
    above = {str(up) for path in (*library(), "/dev/null") for up in Path(path).parents}
    return tuple(sorted(above - {"/"}))


def view(files_mb: int, *, as_root: bool) -> list[str]:
    """Arguments of bubblewrap: its name spaces, the few files that are there, and where the program starts.

    Nothing can be written but /tmp, which holds so many MB. There is no /proc, no /sys and no /etc but for the
    linker's.
    """
    arguments = [*(ROOT_RIGHTS if as_root else USER_RIGHTS), *SPACES, "--new-session", "--die-with-parent"]
    arguments += ["--hostname", "strop", "--perms", "1777", "--size", str(files_mb * 2**20), "--tmpfs", "/tmp"]  # noqa: S108
    arguments += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = f"/{name}"
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        else:
            arguments += ["--ro-bind-try", path, path]
    for path in ("/etc/ld.so.cache", "/etc/alternatives"):
        arguments += ["--ro-bind-try", path, path]
    for folder in folders():
        arguments += ["--perms", "755", "--dir", folder]
    for path in library():
        arguments += ["--ro-bind", path, path]
    for device in DEVICES:
        arguments += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    return [*arguments, "--remount-ro", "/", "--chdir", "/tmp"]  # noqa: S108
