"""The map of names as a page: `python -m strop.bridges.names [DOCS]` writes DOCS/names.md from the tables.

TRL's names are those of 1.16.0, verl's those of 0.9.1, and tests look each of them up in the installed package. The
others were read once, at the commits on the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from strop.bridges import names_data, names_loss
from strop.bridges.names_line import PLAIN, Line, names
from strop.bridges.peers import PEERS

SECTIONS: dict[str, tuple[Line, ...]] = {**names_loss.SECTIONS, **names_data.SECTIONS}
LINES = tuple(line for lines in SECTIONS.values() for line in lines)

READ = {
    "openrlhf": ("OpenRLHF", "OpenRLHF/OpenRLHF", "3c3be6234e0cb353e76bb8019947db9dfe99fca7"),
    "nemo": ("NeMo RL", "NVIDIA-NeMo/RL", "7ea279abfbeb698b092856d0dab61e7cf39bc909"),
    "skyrl": ("SkyRL", "NovaSky-AI/SkyRL", "a9564572eb8e91076be43c1bd5e4615e3de17265"),
    "slime": ("slime", "THUDM/slime", "624b824a898ab0ec1fcb4d373004c7f3852bf515"),
    "prime_rl": ("prime-rl", "PrimeIntellect-ai/prime-rl", "559b44772e471d1538537b8805cc77f3824a5e64"),
    "tinker": ("tinker", "thinking-machines-lab/tinker-cookbook", "9dfcc3a2cf44432d621a01005073dc6d76a1e87a"),
}
"""Column -> its title, its repository and the commit that was read."""

INTRODUCTION = """# What it is called elsewhere

One thing, one name in strop; the same thing has other names in other trainers, and one name means other things there.
A name in the first column is a choice of a row and its kind, or a key of the configuration; a dash means that strop
has no such thing. Names of TRL and verl are looked up by a test in the versions named at the end.

`strop explain --from-trl` and `--from-verl` translate a whole configuration and point out where it is not what it
seems; [Which mean is DAPO's?](which-mean.md) has the first table in numbers, and [Not rows](not-rows.md) says why some
losses are none of strop's.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_tables(), _end()])


def _tables() -> Iterator[str]:
    for title, lines in SECTIONS.items():
        rows = [f"| {' | '.join(_cells(line))} |" for line in lines]
        yield "\n".join(
            [f"## {title}", "", "| strop | what it is | TRL | verl | elsewhere |", "|---|---|---|---|---|", *rows, ""]
        )


def _cells(line: Line) -> list[str]:
    elsewhere = [f"{title}: {_shown(getattr(line, key))}" for key, (title, _, _) in READ.items() if getattr(line, key)]
    ours = f"`{line.ours}`" if line.ours else "–"
    return [ours, line.meaning, _shown(line.trl) or "–", _shown(line.verl) or "–", "; ".join(elsewhere) or "–"]


def _shown(cell: str) -> str:
    shown = ((name if name in PLAIN else f"`{name}`", remark) for name, remark in names(cell))
    return ", ".join(f"{name} ({remark})" if remark else name for name, remark in shown)


def _end() -> str:
    versions = " and ".join(f"{peer.title} {peer.install}" for peer in PEERS.values())
    read = ", ".join(f"[{title}](https://github.com/{home}/tree/{commit})" for title, home, commit in READ.values())
    return (
        f"Tested with {versions}. Read at the commits linked: {read}.\n"
        "This page is written from the code by `python -m strop.bridges.names`.\n"
    )


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs") / "names.md"
    target.write_text(page(), encoding="utf-8")
    print(target)
