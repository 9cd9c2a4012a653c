"""200 word problems in the forms in which data travels: verl's Parquet, TRL's dataset, input/label JSON Lines.

    python examples/data/make.py FOLDER [COUNT]

Made by a seed, so that every machine makes the same files. All forms ask the same questions in the same order; only the
names of their columns, and what stands beside the question, differ. The last is what OpenRLHF and slime read.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEED = 7
INSTRUCTION = "Think step by step and write the final answer after ####."
NAMES = ("Ada", "Björn", "Chidi", "Dalia", "Emre", "Fumiko", "Gül", "Hana")
THINGS = ("apples", "books", "coins", "stamps", "marbles", "tickets")


@dataclass(frozen=True)
class Problem:
    """A question, the working that leads to its answer, and the answer: what a row of GSM8K holds."""

    question: str
    working: str
    answer: str


def problem(rng: random.Random) -> Problem:
    name, other, thing = *rng.sample(NAMES, 2), rng.choice(THINGS)
    has, finds, packs, each = (rng.randint(2, 40) for _ in range(4))
    total = has + packs * each + finds
    gives = rng.randint(1, total)
    question = (
        f"{name} has {has} {thing} and buys {packs} packs of {each}. Then {name} finds {finds} more and gives {gives} "
        f"to {other}. How many {thing} does {name} have now?"
    )
    working = (
        f"The packs hold {packs} * {each} = <<{packs}*{each}={packs * each}>>{packs * each} {thing}.\n"
        f"Before giving any away there are {has} + {packs * each} + {finds} = {total}.\n"
        f"That leaves {total} - {gives} = {total - gives}."
    )
    return Problem(question, working, f"{total - gives:,}")


def messages(one: Problem) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"{one.question}\n{INSTRUCTION}"}]


def verl_row(place: int, one: Problem) -> dict[str, Any]:
    """As verl's GSM8K script lays it out."""
    return {
        "data_source": "openai/gsm8k",
        "prompt": messages(one),
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": one.answer},
        "extra_info": {"split": "train", "index": place, "answer": one.working, "question": one.question},
    }


def trl_row(one: Problem) -> dict[str, Any]:
    """A conversational prompt, and the answer under the name that TRL's examples give it."""
    return {"prompt": messages(one), "solution": one.answer}


def jsonl_row(one: Problem) -> dict[str, Any]:
    """`input` and `label`, which task.data.columns turns into prompt and answer."""
    return {"input": messages(one), "label": one.answer}


def write(folder: Path, count: int = 200) -> None:
    """The files verl.parquet and input_label.jsonl, and the folder trl."""
    import datasets
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = random.Random(SEED)
    problems = [problem(rng) for _ in range(count)]
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([verl_row(i, one) for i, one in enumerate(problems)]), folder / "verl.parquet")
    lines = [json.dumps(jsonl_row(one), ensure_ascii=False) + "\n" for one in problems]
    (folder / "input_label.jsonl").write_text("".join(lines), encoding="utf-8")
    datasets.disable_progress_bars()
    datasets.DatasetDict(train=datasets.Dataset.from_list(list(map(trl_row, problems)))).save_to_disk(folder / "trl")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
