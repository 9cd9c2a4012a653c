"""A file to its reader by its ending, and what is said of one that cannot be opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.errors import DataError
from strop.tasks import reading
from strop.tasks.reading import Source, kind_of
from strop.tasks.rows import Row
from tests.tasks.fakes import write_csv, write_jsonl, write_parquet

ROWS = [{"prompt": "a", "answer": "b"}, {"prompt": "c", "answer": "d"}]


def test_the_ending_of_a_file_says_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "folder").mkdir()
    names = [
        "a.jsonl",
        "a.JSON",
        "x/a.parquet",
        "a.csv",
        "a.txt",
        "a",
        "org/name",
        str(tmp_path / "folder"),
        "~/folder",
    ]
    kinds = ["jsonl", "jsonl", "parquet", "csv", "", "", "", "dataset", "dataset"]
    assert list(map(kind_of, names)) == kinds


@pytest.mark.parametrize(
    "kind, write", [("jsonl", write_jsonl), ("parquet", write_parquet), ("csv", write_csv)], ids=["jsonl", "pq", "csv"]
)
def test_every_reader_gives_the_same_values(tmp_path: Path, kind: str, write: object) -> None:
    path = write(tmp_path / f"d.{kind}", ROWS)  # type: ignore[operator]
    source = Source(str(path), kind)
    assert [row.values for row in source.rows() if isinstance(row, Row)] == ROWS
    assert source.name == f"d.{kind}"


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv"])
@pytest.mark.parametrize("key", ["task.file", "task.held_out_file"])
def test_a_file_that_cannot_be_opened_is_one_line_that_names_its_key(tmp_path: Path, kind: str, key: str) -> None:
    with pytest.raises(DataError, match=f"^{key}: there is no file {tmp_path}/d$"):
        list(Source(f"{tmp_path}/d", kind, key).rows())
    with pytest.raises(DataError, match=f"^{key}: cannot read {tmp_path}: Is a directory$"):
        list(Source(str(tmp_path), kind, key).rows())


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
def test_a_file_that_cannot_be_read_to_its_end_is_one_line_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def refuse(path: Path) -> object:
        yield Row("x", {})
        raise error

    monkeypatch.setitem(reading.READERS, "jsonl", refuse)
    with pytest.raises(DataError, match=f"^task.file: cannot read {tmp_path}/d.jsonl: {error.strerror}$"):
        list(Source(f"{tmp_path}/d.jsonl", "jsonl").rows())


def test_a_dataset_of_the_hub_is_shown_by_its_id_and_a_folder_by_its_name(tmp_path: Path) -> None:
    assert Source("openai/gsm8k@main", "dataset").name == "openai/gsm8k@main"
    assert Source(str(tmp_path), "dataset").name == tmp_path.name
