"""The picture of a run is drawn from its rows, with every panel filled."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from strop.run.plots import FATES, draw_curves

METRICS = [
    {
        "step": step,
        "reward/all": 0.3 + step / 20,
        "reward/trained": 0.4,
        "entropy": 1.0 / step,
        "completions/mean_length": 20.0,
        "completions/clipped_ratio": 0.1,
        "clip_ratio/high_mean": None if step == 1 else 0.01,
        "clip_ratio/low_mean": 0.02,
        "accuracy/all": 0.3 + step / 20,
    }
    for step in range(1, 6)
]
LEDGER = [{"step": step, **dict.fromkeys(FATES, 0), "trained": 8, "all_wrong": step} for step in range(1, 6)]
EVALUATIONS = [
    {"step": step, "avg": 0.3 + step / 20, "low": 0.25, "high": 0.6, "greedy": 0.5, "k": 8} for step in (0, 5)
]


def test_every_panel_shows_its_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    original = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (drawn.append(self), original(self, *a, **k)))
    draw_curves(METRICS, LEDGER, EVALUATIONS, tmp_path / "curves.png", title="a run")
    [figure] = drawn
    titles = [axes.get_title() for axes in figure.axes]
    for title in ("accuracy", "entropy", "completion length", "share of tokens clipped", "groups sampled, by fate"):
        assert title in titles
    clipped = figure.axes[titles.index("share of tokens clipped")]
    assert [len(line.get_xdata()) for line in clipped.get_lines()] == [4, 5]
    labels = [text.get_text() for text in figure.axes[titles.index("groups sampled, by fate")].get_legend().get_texts()]
    assert labels == ["trained", "all wrong"]
    assert (tmp_path / "curves.png").stat().st_size > 20_000
