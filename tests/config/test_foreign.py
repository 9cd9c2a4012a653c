from __future__ import annotations

from pathlib import Path

import pytest

from strop.config.foreign import read_foreign
from strop.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"loss_type": "dapo", "beta": null, "lr": 1e-6}', {"loss_type": "dapo", "beta": None, "lr": 1e-6}),
        ("loss_type: dapo\nbeta: 1e-3\n", {"loss_type": "dapo", "beta": 0.001}),
        ("actor:\n  clip_ratio: 0.2\n  on: yes\n", {"actor": {"clip_ratio": 0.2, "on": "yes"}}),
        ("a.b=0.2 +c=[1, 2] d=x", None),
        ("a.b=0.2 +c=[1,2] d=True e=null", {"a.b": 0.2, "c": [1, 2], "d": True, "e": None}),
        ("a.b=0.2 \\\n  c=abc", {"a.b": 0.2, "c": "abc"}),
        ("path: ${oc.select:x.y,false}", {"path": "${oc.select:x.y,false}"}),
    ],
)
def test_json_yaml_and_words_are_read_alike(text: str, values: dict[str, object] | None, tmp_path: Path) -> None:
    if values is None:
        with pytest.raises(ConfigError):
            read_foreign(text)
        return
    assert read_foreign(text) == values
    file = tmp_path / "settings"
    file.write_text(text, encoding="utf-8")
    assert read_foreign(str(file)) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]: ", "the text given"),
        ("{a: 1", "^the text given:1: "),
        ("- a: 1", "is no configuration"),
        ("a: 1\na: 2", "^the text given:2: a is given twice"),
        ("actor.yml", "^there is no file actor.yml"),
        ("x" * 5000, "^there is no file x"),
        ("a: " + "[" * 3000, "^the text given"),
    ],
)
def test_what_is_no_configuration_is_one_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_foreign(text)
    assert "\n" not in str(caught.value)


def test_a_misspelt_file_is_named_with_the_nearest_and_a_binary_one_by_its_byte(tmp_path: Path) -> None:
    (tmp_path / "actor.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"did you mean actor\.yaml"):
        read_foreign(str(tmp_path / "acter.yaml"))
    with pytest.raises(ConfigError, match="not UTF-8 text, at byte 0"):
        read_foreign(str(tmp_path / "actor.yaml"))
