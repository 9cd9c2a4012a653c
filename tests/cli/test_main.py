from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from strop.cli import main as cli
from strop.errors import ConfigError, DataError, DoesNotFit, NotEnoughSignal, NumericsError, RewardError, StropError
from strop.watch import Stopped

ROOT = Path(__file__).parents[2]


def raised(error: BaseException, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    def _raise(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", _raise)
    return cli.run(["train", *arguments])


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (StropError, 1),
        (ConfigError, 2),
        (DoesNotFit, 3),
        (DataError, 4),
        (NotEnoughSignal, 4),
        (RewardError, 5),
        (NumericsError, 6),
    ],
)
def test_an_error_the_user_can_put_right_is_one_line_and_its_exit_code(
    kind: type[StropError], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raised(kind("seed: is odd\x1b[2J"), monkeypatch) == code
    out, err = capsys.readouterr()
    assert (out, err) == ("", "strop: seed: is odd\u241b[2J\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Stopped(), typer.Abort()])
def test_ctrl_c_leaves_with_130(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raised(error, monkeypatch) == 130
    assert capsys.readouterr().err == "strop: interrupted\n"


@pytest.mark.parametrize(
    "error", [MemoryError(), type("OutOfMemoryError", (RuntimeError,), {})("CUDA"), OSError(errno.ENOSPC, "no space")]
)
def test_what_does_not_fit_leaves_with_3(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raised(error, monkeypatch) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_bug_is_one_line_with_the_path_of_its_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert raised(ZeroDivisionError("a\nb"), monkeypatch) == 1
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "this is a bug in strop: ZeroDivisionError" in err
    [report] = tmp_path.iterdir()
    assert str(report) in err
    assert "Traceback" in report.read_text()


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError):
        raised(ConfigError("x"), monkeypatch, "--debug")


def test_debug_goes_anywhere(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError):
        cli.run(["config", "--debug", "--sed", "1"])
    with pytest.raises(ConfigError):
        cli.run(["--debug", "config", "--sed", "1"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["trian"], "Did you mean 'train'"),
        (["train", "--sede", "1"], "did you mean seed?"),
        (["train", "--rollout.prompts"], "--rollout.prompts needs a value"),
        (["train", "--rollout.prompts", "0"], "rollout.prompts: must be greater than 0"),
        (["train", "--rollout.temperature", "0"], "rollout.temperature: must be greater than 0"),
        (["train", "--rollout.completions", "1"], "rollout.completions: 1 with rollout.filter mixed"),
        (["train", "--rollout.overlong.buffer", "999"], "rollout.overlong.buffer: 999 exceeds rollout.max_tokens"),
        (["train", "--rollout.overlong.buffer", "-1"], "rollout.overlong.buffer: must be at least 0"),
        (["train", "--rollout.top_k", "50"], "full distribution"),
        (["train", "--algorithm", "daop"], "did you mean dapo?"),
        (["train", "--task.kind", "arithmetik"], "did you mean arithmetic?"),
        (["train", "--model", "./nowhere"], "there is no folder ./nowhere"),
        (["train", "--run", "../x"], "run: must hold letters"),
        (["train", "nowhere.yaml"], "there is no file nowhere.yaml"),
        (["config", "nowhere.txt"], "neither a .yaml file nor a run folder"),
        (["explain"], "explain takes one of: a row of"),
        (["explain", "daop"], "did you mean dapo?"),
        (["algorithms", "--jsno"], "--json"),
        (["eval"], "strop eval MODEL_OR_RUN"),
        (["eval", "./nowhere"], "there is no folder ./nowhere"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do_and_exit_code_2(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("strop: ")
    assert expected in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["", "train", "eval", "config", "explain", "algorithms"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*([command] if command else []), "--help"]) == 0
    assert "Usage: strop" in capsys.readouterr().out


def test_no_argument_at_all_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([]) == 0
    assert "Commands" in capsys.readouterr().out


def test_the_code_of_a_command_is_the_code_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "app", lambda *_, **__: 130)
    monkeypatch.setattr(sys, "argv", ["strop", "train"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 130


def test_usage_errors_of_any_kind_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.explained(typer.BadParameter("odd")) == 2
    assert "odd" in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error() -> None:
    code = "import strop.cli.main as m, sys; sys.exit(m.explained(BrokenPipeError()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_stream_that_cannot_spell_a_mark_does_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    assert cli.run(["config", "--s\u00e9ed", "1"]) == 2
    sys.stderr.flush()
    assert b"\\xe9" in raw.getvalue()


def test_the_process_itself_fails_with_one_line_and_without_importing_torch() -> None:
    code = (
        "import sys; from strop.cli.main import run\n"
        "code = run(['train', '--rollout.promts', '3']); sys.exit(9 if 'torch' in sys.modules else code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == ("strop: --rollout.promts: there is no key rollout.promts; did you mean rollout.prompts?\n")


def test_only_training_runs_on_several_ranks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert cli.run(["algorithms"]) == 2
    assert capsys.readouterr().err == "strop: strop algorithms works in one process: start it without torchrun\n"
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert cli.run(["algorithms"]) == 2
    assert capsys.readouterr().err == ""


def test_a_bug_on_another_rank_is_told_with_its_rank(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("RANK", "5")
    assert cli.explained(RuntimeError("no")) == 1
    assert capsys.readouterr().err.startswith(
        "strop: rank 5: this is a bug in strop: RuntimeError: no; report it with "
    )
