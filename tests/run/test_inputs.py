"""What a run read is told by content, and by the last part of its name."""

from __future__ import annotations

import hashlib
from pathlib import Path

from strop.run.inputs import fingerprints


def test_a_file_is_told_by_its_bytes_and_one_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    file.write_bytes(b"{}\n")
    expected = {"name": "train.jsonl", "bytes": 3, "sha256": hashlib.sha256(b"{}\n").hexdigest()}
    assert fingerprints({"task.file": file, "task.held_out_file": tmp_path / "none"}) == {"task.file": expected}


def test_a_folder_is_told_by_the_names_and_bytes_of_all_its_files(tmp_path: Path) -> None:
    def made(name: str, **files: str) -> str:
        folder = tmp_path / name / "data"
        (folder / "in").mkdir(parents=True)
        for file, text in files.items():
            (folder / "in" / file).write_text(text)
        return fingerprints({"task.file": folder})["task.file"]["sha256"]

    assert made("one", a="1", b="2") == made("two", b="2", a="1")
    assert len({made("three", a="2", b="1"), made("four", a="1", c="2"), made("five", a="1", b="2", c="")}) == 3
