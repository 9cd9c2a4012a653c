from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from strop.cli.screen import Bars, Notes, Screen
from tests.cli.fakes import evaluation, group, plain_console, record, rollout, summary, terminal


def ticking(*, step: float = 1.0) -> Callable[[], float]:
    now = iter(range(1_000_000))
    return lambda: next(now) * step


def test_a_run_off_a_terminal_is_a_line_a_step_and_a_final_table(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "curves.png").touch()
    (tmp_path / "checkpoints" / "step-000003").mkdir(parents=True)
    (tmp_path / "checkpoints" / "step-000003" / "config.json").touch()
    console, out = plain_console()
    with Screen(console, seed=6, clock=ticking(step=0.1)) as screen:
        screen.started(tmp_path, {"model": "strop:tiny"})
        screen.evaluated("before", evaluation(0.3))
        for step in (1, 2, 3):
            screen.sampled([group(rollout("good", score=1.0), rollout("bad"))])
            screen.progress("sample", 1, 2)
            screen.stepped(record(step), 3)
        screen.evaluated("after", evaluation(0.9))
        screen.finished(tmp_path, summary())
    text = out.getvalue()
    lines = text.splitlines()
    assert [line.split("  ")[0] for line in lines if line.startswith("step ")][:3] == [
        "step 1/3",
        "step 2/3",
        "step 3/3",
    ]
    assert " left" not in next(line for line in lines if line.startswith("step 3/3"))
    assert "before: avg@8 30.0%" in text
    assert "4+7-2=" in text
    assert "verdict  improved" in text
    assert str(tmp_path / "plots" / "curves.png") in text
    assert f"strop eval {tmp_path}" in text
    assert f"strop train {tmp_path} --model {tmp_path}/checkpoints/step-000003 --seed 7" in text
    assert "\x1b" not in text


def test_an_interrupted_run_has_no_after(tmp_path: Path) -> None:
    console, out = plain_console()
    screen = Screen(console)
    screen.evaluated("before", evaluation(0.3))
    screen.finished(tmp_path, summary(verdict="interrupted", gain=None, accuracy_after=None))
    assert "verdict  interrupted" in out.getvalue()


@given(st.text())
def test_no_text_of_a_run_reaches_the_terminal_with_a_character_that_acts(text: str) -> None:
    console, out = plain_console()
    screen = Screen(console, clock=lambda: 0.0)
    screen.started(Path("x"), {text: text})
    screen.warned(text)
    screen.sampled([group(rollout(text, score=1.0), rollout(text + "b"), prompt=text)])
    screen.stepped(record(1), 1)
    screen.evaluated("after", evaluation(0.3, by={text: {text: (0.3, 1)}}))
    screen.finished(Path("x"), summary(verdict=text, gain=None))
    shown = out.getvalue().replace("\n", "")
    assert not [character for character in shown if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0]


def test_a_long_phase_off_a_terminal_is_heard_of_every_ten_seconds() -> None:
    console, out = plain_console()
    notes = Notes(console, ticking())
    for done in range(60):
        notes.phase("sample", done, 60)
    lines = out.getvalue().splitlines()
    assert 5 <= len(lines) <= 6
    assert lines[0].startswith("  sample ")
    assert "left" in lines[0]


def test_a_phase_that_begins_anew_is_reckoned_anew() -> None:
    console, out = plain_console()
    notes = Notes(console, ticking(step=11.0))
    for done, total in ((1, 3), (2, 3), (3, 3), (0, 3), (1, 3)):
        notes.phase("sample", done, total)
    assert out.getvalue().splitlines()[-1] == "  sample 1/3, about 22 s left"


def test_the_time_left_is_reckoned_from_recent_steps() -> None:
    console, out = plain_console()
    screen = Screen(console, clock=ticking(step=30.0))
    screen.stepped(record(1), 11)
    assert "5 m 00 s left" in out.getvalue()


def test_a_terminal_has_bars_that_are_gone_at_the_end() -> None:
    console, out = terminal()
    with Screen(console) as screen:
        assert isinstance(screen.bars, Bars)
        screen.progress("evaluate", 1, 4)
        screen.stepped(record(1), 2)
        screen.progress("sample", 1, 4)
        screen.progress("sample", 0, 4)
        assert screen.bars.progress is not None
    assert screen.bars.progress is None
    assert "step 1/2" in out.getvalue()
