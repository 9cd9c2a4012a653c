from __future__ import annotations

import pytest

from strop.cli.help import COMMON, common_keys
from strop.cli.main import run
from strop.config.schema import KEYS, LEAVES


def test_the_help_of_train_shows_the_commonest_keys_as_the_schema_describes_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(COMMON) <= set(LEAVES)
    assert run(["train", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for key in COMMON:
        [line] = [line for line in lines if line.split()[:1] == [f"--{key}"]]
        assert line.endswith(KEYS[key].description)
    assert any("strop config prints them all" in line for line in lines)


def test_a_key_of_the_help_stands_with_its_default() -> None:
    defaults = {flag: default for flag, default, _ in common_keys()}
    assert defaults["--algorithm"] == "dapo"
    assert defaults["--train.learning_rate"] == "1e-06"
    assert defaults["--run"] == '""'
