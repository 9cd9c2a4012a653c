"""What the machine has left: memory, within the limits of a control group, a GPU's memory, and disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ROOT = Path("/")
UNLIMITED = 2**60
"""A version-1 control group without a limit says some number above this."""


def free_memory(root: Path = ROOT) -> int:
    """Bytes that can be had without swapping: of the machine, or of the control group if that has less.

    Where the system does not say what is free (macOS), all of it is taken to be.
    """
    meminfo = root / "proc" / "meminfo"
    if not meminfo.is_file():
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    [line] = [line for line in meminfo.read_text().splitlines() if line.startswith("MemAvailable:")]
    return min([int(line.split()[1]) * 1024, *group_memory(root)])


def group_memory(root: Path) -> list[int]:
    """Bytes left in each control group that this process is in, up to the root: none if none has a limit."""
    found: list[int] = []
    for line in text(root / "proc" / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            found += left(root / "sys/fs/cgroup", path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            found += left(root / "sys/fs/cgroup/memory", path, *files)
    return found


def left(mount: Path, path: str, limit: str, usage: str, cache: str) -> list[int]:
    """Limit less usage of a group and of those above it; page cache that can go is free. A container sees its own
    group as the root of the mount, whatever the path says.
    """
    group, found = mount / path.lstrip("/"), []
    for folder in (group, *group.parents, mount):
        most, used = text(folder / limit).strip(), text(folder / usage).strip()
        if folder.is_relative_to(mount) and most.isdigit() and used.isdigit() and int(most) < UNLIMITED:
            stat = dict(line.split() for line in text(folder / "memory.stat").splitlines())
            found.append(max(0, int(most) - int(used) + int(stat.get(cache, 0))))
    return found


def text(file: Path) -> str:
    """What a file of the kernel's says; "" where there is none."""
    try:
        return file.read_text()
    except OSError:
        return ""


def free_gpu(device: str) -> int:
    """Bytes of a GPU that nobody holds, this process's own context taken off."""
    import torch

    return torch.cuda.mem_get_info(torch.device(device))[0]


def free_disk(folder: Path) -> int:
    """Bytes free where a folder is, or would be made."""
    there = next(each for each in (folder.resolve(), *folder.resolve().parents) if each.exists())
    return shutil.disk_usage(there).free
