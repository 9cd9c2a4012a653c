"""The committed pages of the rows are those that the code writes, and what they show is the row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strop.algorithms import KINDS, ROWS, Algorithm
from strop.cli.formula import formula
from strop.cli.rowpages import HELD, WHEN, page, table, with_table, write, written
from strop.config.load import load
from tests.shape.source import ROOT

DOCS = ROOT / "docs"
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
AGAIN = "write it again: python -m strop.cli.rowpages"


def loaded(text: str, folder: Path) -> Algorithm:
    """The row of a configuration that a page shows."""
    file = folder / "page.yaml"
    file.write_text(text, encoding="utf-8")
    return load([file]).row


@pytest.mark.parametrize("name", list(ROWS))
def test_the_committed_page_of_a_row_is_what_the_code_writes(name: str) -> None:
    assert (DOCS / "rows" / f"{name}.md").read_text(encoding="utf-8") == page(ROWS[name]), AGAIN


def test_the_committed_table_is_what_the_code_writes() -> None:
    index = (DOCS / "rows.md").read_text(encoding="utf-8")
    assert with_table(index) == index, AGAIN
    assert [line.split("`")[1] for line in table().splitlines()[2:]] == list(ROWS)


def test_there_is_a_page_for_every_row_and_for_nothing_else() -> None:
    assert {path.stem for path in (DOCS / "rows").iterdir()} == set(ROWS) == set(WHEN)


@pytest.mark.parametrize("name", list(ROWS))
def test_a_page_holds_formula_source_and_deviations(name: str) -> None:
    row, text = ROWS[name], page(ROWS[name])
    assert all(f"    {line}\n" in text for line in formula(row))
    assert f"Source: {row.source}." in text
    assert all(f"- {deviation}\n" in text for deviation in row.deviations)


@pytest.mark.parametrize("name", list(ROWS))
def test_the_configuration_of_a_page_is_the_row_itself(name: str, tmp_path: Path) -> None:
    [text] = YAML.findall(page(ROWS[name]))
    assert text.splitlines() == written(ROWS[name])
    assert loaded(text, tmp_path) == loaded(f"algorithm: {name}\n", tmp_path)


def test_the_choices_of_a_page_make_the_row_out_of_any_other(tmp_path: Path) -> None:
    for row in ROWS.values():
        [text] = YAML.findall(page(row))
        other = loaded(text.replace(f"algorithm: {row.name}\n", "algorithm: rloo\n"), tmp_path)
        this = loaded(f"algorithm: {row.name}\n", tmp_path)
        assert (other.advantage, other.ratio, other.trust) == (this.advantage, this.ratio, this.trust)
        assert (other.aggregation, other.regularizers) == (this.aggregation, this.regularizers)


def test_every_trust_region_says_what_its_clip_fractions_count() -> None:
    assert set(HELD) == set(KINDS["trust"])


def test_the_page_of_rows_names_every_kind_of_every_choice() -> None:
    index = (DOCS / "rows.md").read_text(encoding="utf-8")
    for choice, kinds in KINDS.items():
        assert f"| {choice} | {', '.join(f'`{kind}`' for kind in kinds)} |" in index


def test_writing_makes_the_folder_and_leaves_the_rest_of_the_index(tmp_path: Path) -> None:
    index = "before\n<!-- the table, by strop.cli.rowpages -->\nstale\n<!-- the end of the table -->\nafter\n"
    (tmp_path / "rows.md").write_text(index, encoding="utf-8")
    files = write(tmp_path)
    assert [file.name for file in files] == ["rows.md", *(f"{name}.md" for name in ROWS)]
    text = (tmp_path / "rows.md").read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "stale" not in text


def test_every_configuration_of_the_page_of_what_is_no_row_loads(tmp_path: Path) -> None:
    blocks = YAML.findall((DOCS / "not-rows.md").read_text(encoding="utf-8"))
    assert blocks and all(loaded(block, tmp_path) for block in blocks)


def test_every_correction_of_the_page_of_rows_loads() -> None:
    index = (DOCS / "rows.md").read_text(encoding="utf-8")
    shown = re.findall(r"`(\{kind: sequence_mask.*?\})`", index)
    assert shown and all(load(flags=[("objective.correction", text)]).row.correction for text in shown)
