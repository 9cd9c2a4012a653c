"""What is free, as Linux says it, in made-up roots."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.plan.machine import free_disk, free_memory

MIB = 2**20


def root(folder: Path, **files: str) -> Path:
    for name, text in {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    4096 kB\n", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_without_a_limit_it_is_what_the_machine_has(tmp_path: Path) -> None:
    unlimited = {"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "5\n"}
    assert free_memory(root(tmp_path, **unlimited, **{"proc/self/cgroup": "0::/\n"})) == 4 * MIB


@pytest.mark.parametrize("place", ["", "/user", "/user/job"])
def test_a_control_group_or_one_above_it_may_have_less_and_its_page_cache_is_free(tmp_path: Path, place: str) -> None:
    files = {
        "proc/self/cgroup": "0::/user/job\n",
        f"sys/fs/cgroup{place}/memory.max": f"{3 * MIB}\n",
        f"sys/fs/cgroup{place}/memory.current": f"{2 * MIB}\n",
        f"sys/fs/cgroup{place}/memory.stat": f"anon 7\ninactive_file {MIB // 2}\n",
    }
    assert free_memory(root(tmp_path, **files)) == 3 * MIB // 2


def test_a_control_group_of_version_1_counts_too(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/job\n",
        "sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{2 * MIB}\n",
        "sys/fs/cgroup/memory/job/memory.usage_in_bytes": f"{3 * MIB}\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
    }
    assert free_memory(root(tmp_path, **files)) == 0


def test_this_machine_has_some_memory_and_some_disk(tmp_path: Path) -> None:
    assert free_memory() > 0
    assert free_disk(tmp_path / "not" / "there" / "yet") == pytest.approx(free_disk(tmp_path), rel=0.2)


def test_a_system_that_does_not_say_is_taken_at_its_size(tmp_path: Path) -> None:
    assert free_memory(tmp_path) > 2**28
