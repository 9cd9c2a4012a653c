from __future__ import annotations

import json
from pathlib import Path

import pytest

from strop.cli.main import run
from strop.config.load import load


def test_a_trl_configuration_is_explained_in_words_as_a_row_and_with_its_traps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["explain", "--from-trl", '{"loss_type": "cispo"}']) == 0
    out = capsys.readouterr().out
    assert out.startswith("what TRL 1.16.0 computes\n")
    assert "l_n   = -A sg(min(r_n, 0.2)) logp_n" in out
    assert "epsilon_high: with loss_type cispo it is the largest weight itself, here 0.2" in out
    assert "https://github.com/huggingface/trl/blob/" in out
    assert "lr_scheduler_type: linear" in out


def test_what_is_printed_as_a_configuration_is_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "actor.yaml"
    file.write_text("policy_loss: {loss_mode: gspo}\nclip_ratio_high: 4e-4\n", encoding="utf-8")
    assert run(["explain", "--from-verl", str(file)]) == 0
    out = capsys.readouterr().out
    (tmp_path / "mine.yaml").write_text(out.partition("`strop train`\n")[2], encoding="utf-8")
    config = load([tmp_path / "mine.yaml"])
    assert (config.row.name, config.row.ratio.kind, config.row.trust.high) == ("gspo_token", "sequence_token", 4e-4)
    assert run(["config", str(tmp_path / "mine.yaml")]) == 0


def test_json_holds_words_configuration_traps_and_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--from-verl", "{clip_ratio_c: 10}", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"peer", "version", "words", "config", "traps", "missing", "yaml", "formula"}
    assert told["config"]["objective"]["trust"]["dual"] == 10.0
    assert any("at most 10 |A|" in line for line in told["formula"])
    assert {"key", "text", "link"} == set(told["traps"][0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "explain takes one of: a row of `strop algorithms`, --from-trl SETTINGS, --from-verl SETTINGS"),
        (["dapo", "--from-trl", "{}"], "explain takes one of"),
        (["--from-trl", "{}", "--from-verl", "{}"], "explain takes one of"),
        (
            ["--from-trl", "{epsilon_hih: 1}"],
            "TRL's GRPOConfig has no setting 'epsilon_hih'; did you mean epsilon_high?",
        ),
        (["--from-verl", "nothing.yaml"], "there is no file nothing.yaml"),
    ],
)
def test_what_cannot_be_explained_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
