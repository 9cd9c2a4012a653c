"""Datasets of Hugging Face: saved folders, folders of files, splits, and a hub that cannot be asked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pytest

from strop.errors import ConfigError, DataError
from strop.tasks import read_dataset as module
from strop.tasks.read_dataset import is_hub_id, read_dataset
from strop.tasks.rows import Row

ROWS = [{"prompt": [{"role": "user", "content": f"{i}+1="}], "solution": str(i + 1)} for i in range(5)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def read(file: Any, split: str = "train", subset: str = "") -> list[Any]:
    return list(read_dataset(str(file), subset, split, "task.data.split"))


def saved(path: Path, made: Any) -> Path:
    with module._quiet():
        made.save_to_disk(str(path))
    return path


def test_a_saved_dataset_gives_its_rows_in_order_with_numbers(tmp_path: Path) -> None:
    path = saved(tmp_path / "d", datasets.Dataset.from_list(ROWS))
    assert read(path) == [Row(f"{path} (train) row {i + 1}", row) for i, row in enumerate(ROWS)]


def test_a_dataset_that_was_selected_and_shuffled_is_read_as_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS", 2)
    made = datasets.Dataset.from_list(ROWS).select([4, 2, 0])
    path = saved(tmp_path / "d", datasets.DatasetDict(train=datasets.Dataset.from_list(ROWS), test=made))
    assert [row.values["solution"] for row in read(path, "test")] == ["5", "3", "1"]
    assert len(read(path)) == 5


@pytest.mark.parametrize("split", ["tran", "test"])
def test_a_split_that_is_not_there_is_named_with_those_that_are(tmp_path: Path, split: str) -> None:
    one = datasets.Dataset.from_list(ROWS)
    path = saved(tmp_path / "two", datasets.DatasetDict(train=one, validation=one))
    with pytest.raises(ConfigError, match=f"task.data.split: .*two has no split '{split}'; it has train, validation"):
        read(path, split)
    with pytest.raises(ConfigError, match=f"task.data.split: .*one is one split, 'train', and has no '{split}'"):
        read(saved(tmp_path / "one", one), split)


def test_a_saved_dataset_has_no_subset(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="task.data.subset: .* was written by save_to_disk and has no subset 'main'"):
        read(saved(tmp_path / "d", datasets.Dataset.from_list(ROWS)), subset="main")


def test_a_folder_of_files_is_a_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "files" / "data"
    folder.mkdir(parents=True)
    with module._quiet():
        datasets.Dataset.from_list(ROWS).to_parquet(folder / "train-00000-of-00001.parquet")
        datasets.Dataset.from_list(ROWS[:2]).to_parquet(folder / "test-00000-of-00001.parquet")
    assert [row.values for row in read(tmp_path / "files")] == ROWS
    assert [row.values for row in read(tmp_path / "files", "test")] == ROWS[:2]


def test_a_fault_in_a_text_file_of_a_folder_is_named_with_its_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "train.jsonl").write_text('{"prompt": "a"}\n{"prompt": }\n')
    with pytest.raises(DataError, match=r"^.*/d/train.jsonl:2: not JSON at column 12: Expecting value$"):
        read(tmp_path / "d")
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_data_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read as a dataset: The directory .*doesn't contain"):
        read(tmp_path)


def test_a_saved_dataset_that_was_damaged_is_an_error(tmp_path: Path) -> None:
    path = saved(tmp_path / "d", datasets.Dataset.from_list(ROWS))
    arrow = path / "data-00000-of-00001.arrow"
    arrow.write_bytes(arrow.read_bytes()[:100])
    with pytest.raises(DataError, match="task.file: .*/d cannot be read as a dataset: "):
        read(path)


def test_bad_utf_8_in_a_dataset_is_named_with_its_row(tmp_path: Path) -> None:
    texts = pa.array([b"a", b"\xff", b"c"], pa.binary()).view(pa.string())
    path = saved(tmp_path / "d", datasets.Dataset(pa.table({"prompt": texts})))
    assert str(read(path)[1]) == f"{path} (train) row 2: column 'prompt': not UTF-8 at byte 1 of the text"


def test_a_hub_that_cannot_be_asked_is_one_line_that_says_what_to_do() -> None:
    with pytest.raises(DataError) as caught:
        read("nobody/nothing")
    assert str(caught.value) == (
        "task.file: nobody/nothing is no folder, and the hub cannot be asked for it; check the name and the network; "
        "a folder that save_to_disk wrote needs none"
    )


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigError, match=r"needs the library datasets: pip install 'strop\[data\]'"):
        read("openai/gsm8k")


def test_a_revision_is_given_to_the_hub_beside_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load_dataset(*name: str, **how: Any) -> Any:
        asked.append((*name, how))
        return datasets.DatasetDict(train=datasets.Dataset.from_list(ROWS))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert len(read("openai/gsm8k@abc", subset="main")) == 5
    assert asked == [("openai/gsm8k", "main", {"revision": "abc"})]


def test_what_is_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert all(map(is_hub_id, ["gsm8k", "openai/gsm8k", "a/b@main", "a/b@refs/convert/parquet"]))
    assert not any(map(is_hub_id, ["", "./a", "/a/b", "~/a", "a/b/c", "a b"]))
    (tmp_path / "a").mkdir()
    assert not is_hub_id("a")
