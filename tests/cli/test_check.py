from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from strop.algorithms import ROWS
from strop.check.compare import Errors, Line
from strop.check.gradient import Report
from strop.check.means import Apart
from strop.cli.check import HEADS, SHOWN, configuration, failures, kind, verdict
from strop.cli.main import run
from strop.config.load import load
from strop.errors import ConfigError, NotEnoughSignal
from strop.watch import Watcher

KEYS = ["row", "layout", "dtype", "ranks", "gradient_error", "worst_parameter", "metric_error", "ok"]
PAGE = Path(__file__).parents[2] / "docs" / "check.md"


def line(layout: str, *, error: float = 1e-15, ranks: int = 1, dtype: str = "float64", row: str = "dapo") -> Line:
    return Line(row, layout, dtype, ranks, Errors(error, "lm_head.weight", 1e-16, "prob"), 1e-12)


RIGHT = (
    line("all rows at once"),
    line("shuffled (1), 2 rows", row="grpo"),
    line("shuffled (2), 2 rows"),
    line("budget of 9 tokens, FSDP2", ranks=2),
    line("all rows at once", dtype="float32"),
)
WRONG = (*RIGHT, line("micro-batches of 2", error=0.4), line("one by one, data parallel", error=0.2, ranks=4))


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is asked for, and a report of these lines in the place of a real one."""
    seen = SimpleNamespace(config="nothing", lines=RIGHT)

    def plan(config: Any, watch: Watcher) -> Any:
        seen.config = config
        means = (Apart("dapo", "token", 1.0, 1.0), Apart("dapo", "prompt", 0.84, 1.12))
        return SimpleNamespace(facts={"batch": "three sequences"}, run=lambda watch: Report(seen.lines, means))

    monkeypatch.setattr("strop.check.gradient.plan", plan)
    return seen


def test_all_that_holds_is_a_table_and_exit_code_0(planned: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check"]) == 0
    out = capsys.readouterr().out
    assert planned.config is None
    assert "batch  three sequences" in out
    assert re.search(r"^shuffled +2 +1\.0e-15 +lm_head\.weight +grpo +1\.0e-16 +prob +holds$", out, re.MULTILINE)
    assert re.search(r"^2 ranks, FSDP2 +1 +1\.0e-15", out, re.MULTILINE)
    assert re.search(r"^dapo +1\.0e-15 +1\.0e-16 +1\.0e-15 +1\.0e-16 +holds$", out, re.MULTILINE)
    assert re.search(r"^grpo +1\.0e-15 +1\.0e-16 +- +- +holds$", out, re.MULTILINE)
    assert re.search(r"^prompt +0\.8400 +1\.120$", out, re.MULTILINE)
    assert out.splitlines()[-1].startswith("All hold: 5 runs of 2 rows under 4 layouts")


def test_what_is_off_is_named_and_exit_code_1(planned: Any, capsys: pytest.CaptureFixture[str]) -> None:
    planned.lines = WRONG
    assert run(["check", "gradient"]) == 1
    out = capsys.readouterr().out
    assert "off: dapo, micro-batches of 2, float64: gradient 4.0e-01 (lm_head.weight), metrics 1.0e-16 (prob)" in out
    assert "micro-batches of 2; one by one, data parallel, 4 ranks" in out.splitlines()[-1]
    assert re.search(r"^4 ranks, data parallel .* 1 of 1 off$", out, re.MULTILINE)


def test_every_layout_is_printed_on_request(planned: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--layouts"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^shuffled \(1\), 2 rows +1 ", out, re.MULTILINE)
    assert re.search(r"^budget of 9 tokens, FSDP2, 2 ranks +1 ", out, re.MULTILINE)


def test_the_same_as_json_and_nothing_else(planned: Any, capsys: pytest.CaptureFixture[str]) -> None:
    planned.lines = WRONG
    assert run(["check", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert list(record) == ["rows", "ok", "means"]
    assert [list(row) for row in record["rows"]] == [KEYS] * len(WRONG)
    assert record["ok"] is False
    assert record["means"][1] == {"row": "dapo", "mean": "prompt", "cosine": 0.84, "norm_ratio": 1.12}


def test_a_number_that_is_not_finite_is_still_json(planned: Any, capsys: pytest.CaptureFixture[str]) -> None:
    planned.lines = (line("all", error=float("inf")),)
    assert run(["check", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["rows"][0]["gradient_error"] == "inf"


def test_a_file_or_flags_are_the_configuration_that_is_checked(planned: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("algorithm: grpo\n")
    assert run(["check", str(file), "--rollout.prompts", "6"]) == 0
    assert (planned.config.algorithm, planned.config.rollout.prompts) == ("grpo", 6)
    assert run(["check", "gradient", "--algorithm", "gspo"]) == 0
    assert planned.config.algorithm == "gspo"


def test_a_run_is_checked_with_its_own_settings(planned: Any, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(load(mapping={"algorithm": "scalerl"}).to_yaml())
    assert configuration([str(tmp_path)]).algorithm == "scalerl"  # type: ignore[union-attr]


def test_a_check_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^there is no check 'gradeint', nor a run of that name"):
        configuration(["gradeint"])


def test_a_batch_without_signal_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def plan(config: Any, watch: Watcher) -> Any:
        raise NotEnoughSignal("drew 8 groups; use easier prompts")

    monkeypatch.setattr("strop.check.gradient.plan", plan)
    assert run(["check"]) == NotEnoughSignal.exit_code
    assert capsys.readouterr().err == "strop: drew 8 groups; use easier prompts\n"


def test_layouts_come_in_kinds() -> None:
    names = {"micro-batches of 3": "micro-batches", "groups shuffled (2), budget": "groups shuffled"}
    names |= {"long beside short, 3 rows": "long beside short", "all rows at once": "all rows at once"}
    assert {name: kind(line(name)) for name in names} == names
    assert kind(line("shuffled (1), 2 rows, data parallel", ranks=2)) == "2 ranks, data parallel"
    assert kind(line("a rank without work, FSDP2", ranks=4)) == "4 ranks, one of them without work"


def test_of_many_that_are_off_the_first_are_printed() -> None:
    many = [line(f"layout {i}", error=1.0) for i in range(SHOWN + 5)]
    assert len(failures(many)) == SHOWN + 1
    assert failures(many)[-1] == "... and 5 more: --json lists them"
    assert failures(RIGHT) == []
    assert verdict(many).endswith("; ...")


def peer_report() -> Any:
    row = SimpleNamespace(
        name="dapo", layout="2 x 4", agrees_with="", gradient_error=0.31, cosine=0.97, norm_ratio=1.2, note="a window"
    )
    row.same = False
    rows = (row, SimpleNamespace(**{**vars(row), "layout": "1 x 8", "agrees_with": "dapo", "same": True}))
    return SimpleNamespace(peer="trl", version="1.16.0", rows=rows, as_json=lambda: {"peer": "trl"})


def test_a_peer_is_compared_and_its_notes_are_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("strop.bridges.against.compare", lambda peer: peer_report())
    assert run(["check", "--against", "trl"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^dapo +2 x 4 +- +3\.1e-01 +0\.9700 +1\.200 +differs$", out, re.MULTILINE)
    assert re.search(r"^dapo +1 x 8 +dapo +3\.1e-01 .* the same$", out, re.MULTILINE)
    assert out.splitlines()[-2:] == ["a window:", "    dapo"]
    assert run(["check", "--against", "trl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"peer": "trl"}


def test_a_peer_that_is_not_known_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--against", "tlr"]) == ConfigError.exit_code
    assert "unknown peer 'tlr'; did you mean trl?" in capsys.readouterr().err


def test_a_configuration_beside_a_peer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--against", "trl", "--seed", "3"]) == ConfigError.exit_code
    assert "'--seed' has no effect there, leave it out" in capsys.readouterr().err


def commands() -> list[list[str]]:
    """The commands that the page gives, each on a line of its own."""
    lines = re.findall(r"^    strop (check.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [shlex.split(line) for line in lines]


def test_the_page_shows_the_output_of_today() -> None:
    """Its rows are those of the table, and its lines what this command prints; a new row needs a new output."""
    text = PAGE.read_text(encoding="utf-8")
    [output] = re.findall(r"^```\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    for name in ROWS:
        assert re.search(rf"^{name} .* holds$", output, re.MULTILINE), f"{name} is not on the page: run strop check"
    for head in ("float64: what is off by at most 1e-12 holds", "float32: what is off by at most 1e-05 holds"):
        assert head in output
    assert [line.split() for line in output.splitlines() if line.startswith("layout ")] == [" ".join(HEADS).split()] * 3
    assert re.search(r"^All hold: \d+ runs of \d+ rows under \d+ layouts gave", output.splitlines()[-1])


def test_every_command_of_the_page_is_one(planned: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("algorithm: dapo\n")
    assert len(commands()) == 3
    assert [run(words) for words in commands()] == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_command_of_the_page_with_settings_holds(capsys: pytest.CaptureFixture[str]) -> None:
    [words] = [words for words in commands() if "--algorithm" in words]
    assert run([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["ok"] is True
    assert {row["row"] for row in record["rows"]} == {"gspo"}
    assert {row["ranks"] for row in record["rows"]} == {1, 2, 4}
