from __future__ import annotations

from pathlib import Path

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from strop.config.load import load
from strop.config.reader import Loader
from strop.config.schema import LEAVES
from strop.config.writer import scalar


def odd_config():
    trust = {"kind": "clip", "low": 1e-3, "dual": float("inf")}
    return load(
        mapping={
            "run": "1e3",
            "task.reward": "a.b.c",
            "train.learning_rate": 1e-6,
            "objective": {"trust": trust, "regularizers": [{"kind": "kl", "beta": 1e-3}]},
        }
    )


def test_what_is_written_is_read_back_to_the_same_values(tmp_path: Path) -> None:
    config = odd_config()
    (tmp_path / "config.yaml").write_text(config.to_yaml())
    again = load([tmp_path / "config.yaml"])
    assert again.dump() == config.dump()
    assert again.row == config.row


def test_a_plain_yaml_reader_sees_the_same_values() -> None:
    config = odd_config()
    assert yaml.safe_load(config.to_yaml()) == config.dump()


def test_every_key_has_a_line_with_its_source() -> None:
    config = odd_config()
    lines = [line for line in config.to_yaml().splitlines() if "  # " in line]
    assert len(lines) == len(LEAVES)
    assert [line.rpartition("# ")[2] for line in lines] == list(config.sources.values())


@example("1e3")
@example("None")
@example("0o17")
@example("12:30")
@given(st.one_of(st.floats(allow_nan=False), st.integers(), st.booleans(), st.text(max_size=30)))
def test_a_scalar_is_one_line_and_read_back_by_both_readers(value: object) -> None:
    text = scalar(value)
    assert "\n" not in text
    assert yaml.safe_load(f"key: {text}  # comment")["key"] == value
    assert Loader(f"key: {text}  # comment").get_single_data()["key"] == value
