"""Malformed data of every kind ends `strop train` with exit code 4 and one line: file, line or row, column, reason.

No model has been loaded by then, and no run folder is left.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from strop.cli.main import run
from tests.shape.source import ROOT

GOOD = [{"prompt": f"{i}+1=", "answer": str(i + 1), "level": 1} for i in range(9)]
LINES = [json.dumps(row) for row in GOOD]
UNANSWERED = {**GOOD[0], "answer": None}
MESSAGES = [{"role": "user", "content": "1+1="}]


def lines(fifth: str, *, end: str = "\n") -> Callable[[Path], Any]:
    """A JSON Lines file whose fifth line is this."""
    text = [line if place != 4 else fifth for place, line in enumerate(LINES)]
    return lambda path: path.write_bytes("\n".join(text).encode("utf-8", "surrogateescape"))


def row(**changes: Any) -> Callable[[Path], Any]:
    """The same, the fifth row with other values; `...` takes one away."""
    changed = {key: value for key, value in (GOOD[4] | changes).items() if value is not ...}
    return lines(json.dumps(changed))


def parquet(rows: list[dict[str, Any]]) -> Callable[[Path], Any]:
    return lambda path: pq.write_table(pa.Table.from_pylist(rows), path)


def cut_parquet(path: Path) -> None:
    parquet(GOOD)(path)
    path.write_bytes(path.read_bytes()[:-9])


def bytes_parquet(path: Path) -> None:
    texts = pa.array([b"a", b"\xff", b"c"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"prompt": texts}), path)


def chats(path: Path) -> None:
    rows = [{"messages": [*MESSAGES, {"role": "assistant", "content": "2"}]} for _ in GOOD]
    path.write_text("\n".join(map(json.dumps, rows)))


def csv(text: str) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(f"prompt,answer\n1+1=,2\n{text}".encode("utf-8", "surrogateescape"))


FAULTS: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "bad JSON": ("d.jsonl", lines(LINES[4][:-1]), "d.jsonl:5: not JSON at column 45: Expecting ',' delimiter"),
    "bad UTF-8": ("d.jsonl", lines('{"prompt": "\udcff"}'), "d.jsonl:5: not UTF-8 at byte 13"),
    "a byte order mark inside": (
        "d.jsonl",
        lines("\ufeff" + LINES[4]),
        "d.jsonl:5: not JSON at column 1: a byte order",
    ),
    "UTF-16": ("d.jsonl", lambda path: path.write_text(LINES[0], "utf-16"), "d.jsonl:1: it is UTF-16"),
    "no object": ("d.jsonl", lines("[1]"), "d.jsonl:5: expected a JSON object, found a list"),
    "a key twice": ("d.jsonl", lines('{"prompt": "a", "prompt": "b"}'), "d.jsonl:5: column 'prompt': is given twice"),
    "no prompt": (
        "d.jsonl",
        row(prompt=..., promt="a"),
        "d.jsonl:5: column 'prompt': is missing: the row has answer, ",
    ),
    "an empty prompt": ("d.jsonl", row(prompt=" "), "d.jsonl:5: column 'prompt': is empty"),
    "a prompt of a wrong type": ("d.jsonl", row(prompt=7), "d.jsonl:5: column 'prompt': is a number; a prompt is"),
    "a bad message": (
        "d.jsonl",
        row(prompt=[{"role": "user"}]),
        "d.jsonl:5: column 'prompt': message 0 has no",
    ),
    "an answer in the prompt": (
        "chat.jsonl",
        chats,
        "chat.jsonl:1: column 'messages': ends with an assistant's message, so the answer would stand in the prompt; "
        "leave that message out (all 9 rows are malformed)",
    ),
    "a missing answer": ("d.jsonl", row(answer=...), "d.jsonl:5: column 'answer': is missing: the right answer stands"),
    "an empty answer": ("d.jsonl", row(answer=""), "d.jsonl:5: column 'answer': is empty: the right answer stands"),
    "mixed types": ("d.jsonl", row(answer=5), "d.jsonl:5: column 'answer': is a number here, and a text in most rows"),
    "mixed prompts": (
        "d.jsonl",
        row(prompt=MESSAGES),
        "d.jsonl:5: column 'prompt': is a list here, and a text in most",
    ),
    "not a number": (
        "d.jsonl",
        row(level=float("nan")),
        "d.jsonl:5: column 'level': holds nan, which is no JSON value",
    ),
    "half a character": ("d.jsonl", row(prompt="\ud800"), "d.jsonl:5: column 'prompt': holds half a character"),
    "messages as text": (
        "d.jsonl",
        row(prompt=json.dumps(MESSAGES)),
        "d.jsonl:5: column 'prompt': is a text that spells",
    ),
    "an empty file": ("d.jsonl", lambda path: path.touch(), "d.jsonl: it holds no rows"),
    "a slip in an array": (
        "d.json",
        lambda path: path.write_text('[{"prompt": "a"},\n{]'),
        "d.json:2: not JSON at column 2",
    ),
    "too few fields": ("d.csv", csv("1+2="), "d.csv:3: column 'answer': is missing: the row has 1 of 2 fields"),
    "too many fields": ("d.csv", csv("1+2=,3,4"), "d.csv:3: has 3 fields, and the first line names 2 columns"),
    "an open quote": ("d.csv", csv('1+2=,"3\n1+3=,4'), "d.csv:3: a quote that opens in field 2 is never closed"),
    "a cut off Parquet file": (
        "d.parquet",
        cut_parquet,
        "d.parquet: no whole Parquet file: Parquet magic bytes not found",
    ),
    "bad UTF-8 in Parquet": ("d.parquet", bytes_parquet, "d.parquet row 2: column 'prompt': not UTF-8 at byte 1"),
    "no answer in Parquet": (
        "d.parquet",
        parquet([*GOOD, {**GOOD[0], "answer": None}]),
        "d.parquet row 10: column 'answer'",
    ),
    "a nested column out of reach": (
        "deep.jsonl",
        lines(LINES[4]),
        "deep.jsonl:1: column 'meta.answer': cannot be reached: the row has no 'meta', only prompt, answer, level",
    ),
}


def arguments(folder: Path, name: str) -> list[str]:
    file, write, _ = FAULTS[name]
    write(folder / file)
    (folder / "r.py").write_text("def score(completion, **columns):\n    return 1.0\n")
    theirs = {"deep.jsonl": "{answer: meta.answer}", "chat.jsonl": "{prompt: messages}"}
    reach = ["--task.data.columns", theirs[file]] if file in theirs else []
    where = ["--task.file", str(folder / file), "--task.reward", f"{folder}/r.py:score", "--runs", str(folder / "runs")]
    return ["train", *where, *reach]


def test_there_are_at_least_twelve_kinds() -> None:
    assert len(FAULTS) >= 25


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_one_line_that_names_its_place_and_no_model_is_loaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def loads(*_: Any, **__: Any) -> None:
        raise AssertionError("a model or a tokenizer is loaded")

    monkeypatch.setattr("strop.loop.load_tokenizer", loads)
    monkeypatch.setattr("strop.prepare.load_model", loads)
    assert run(arguments(tmp_path, name)) == 4
    out, err = capsys.readouterr()
    [line] = err.splitlines()
    assert line.startswith(f"strop: {tmp_path}/{FAULTS[name][2]}")
    assert out == ""
    assert not (tmp_path / "runs").exists()


def test_malformed_rows_up_to_the_limit_are_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {"rollout.prompts": 1, "rollout.completions": 2, "rollout.max_tokens": 4, "rollout.filter": "none"}
    small |= {"train.steps": 1, "train.updates": 1, "eval.prompts": 1, "eval.completions": 1, "eval.every": 0}
    small |= {"rollout.overlong.buffer": 0, "save.every": 0}
    flags = [part for key, value in small.items() for part in (f"--{key}", str(value))]
    assert run([*arguments(tmp_path, "bad JSON"), "--task.max_bad", "1", *flags]) == 0
    out, _ = capsys.readouterr()
    text = re.sub(r"\s+", " ", out)
    assert "9 rows, 8 unique, 1 malformed and left out" in text
    assert "1 of 9 rows is malformed and left out" in text


@pytest.mark.slow  # starts Python and imports torch
def test_in_a_process_of_its_own_no_file_of_a_model_is_opened(tmp_path: Path) -> None:
    commands = {}
    for place, name in enumerate(FAULTS):
        (tmp_path / str(place)).mkdir()
        commands[name] = arguments(tmp_path / str(place), name)
    code = (
        "import json, sys; from strop.cli.main import run\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, given: event == 'open' and opened.append(str(given[0])))\n"
        "codes = {run(command) for command in json.loads(sys.stdin.read()).values()}\n"
        "models = [path for path in opened if path.endswith(('.safetensors', 'tokenizer.json'))]\n"
        "print(json.dumps([sorted(codes), models, sum('d.jsonl' in path for path in opened)]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command, given = [sys.executable, "-c", code], json.dumps(commands)
    done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, check=False)
    codes, models, read = json.loads(done.stdout)
    assert (codes, models) == ([4], []) and read > 10
    for line, (place, name) in zip(done.stderr.splitlines(), enumerate(FAULTS), strict=True):
        assert line.startswith(f"strop: {tmp_path}/{place}/{FAULTS[name][2]}")
