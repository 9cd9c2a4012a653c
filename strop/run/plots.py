"""The curves of a run, as one PNG: drawn from metrics.jsonl and ledger.jsonl alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from strop.run.store import read_rows

Rows = Sequence[Mapping[str, Any]]

BLUE, ORANGE, GREEN, RED, GREY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999", "#CC79A7"
FATES = {
    "trained": (BLUE, "trained"),
    "all_right": (GREEN, "all right"),
    "all_wrong": (RED, "all wrong"),
    "dropped": (GREY, "surplus dropped"),
    "carried_out": (PURPLE, "carried"),
    "errored": ("black", "errored"),
}


def draw_run(folder: Path, *, title: str) -> None:
    """plots/curves.png of a run folder, from its rows."""
    metrics, ledger, evaluations = (
        read_rows(folder / f"{name}.jsonl") for name in ("metrics", "ledger", "evaluations")
    )
    draw_curves(metrics, ledger, evaluations, folder / "plots" / "curves.png", title=title)


def draw_curves(metrics: Rows, ledger: Rows, evaluations: Rows, target: Path, *, title: str) -> None:
    """Six panels: accuracy, reward, entropy, length, clip fractions, and where every sampled group went."""
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    grid = figure.subplots(2, 3)
    accuracy(grid[0, 0], metrics, evaluations)
    lines(grid[0, 1], metrics, {"reward/all": ("all generated", GREY), "reward/trained": ("trained", BLUE)})
    grid[0, 1].set_title("reward: score + length penalty")
    lines(grid[0, 2], metrics, {"entropy": ("entropy of trained tokens (nats)", BLUE)})
    grid[0, 2].set_ylim(bottom=0)
    grid[0, 2].set_title("entropy")
    lengths(grid[1, 0], metrics)
    clips = {"clip_ratio/high_mean": ("upper", ORANGE), "clip_ratio/low_mean": ("lower", BLUE)}
    lines(grid[1, 1], metrics, clips)
    grid[1, 1].set_title("share of tokens clipped")
    grid[1, 1].yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=2))
    fates(grid[1, 2], ledger)
    for axes in grid.flat:
        axes.set_xlabel("step")
        axes.grid(alpha=0.25)
        axes.legend(fontsize="small", frameon=False)
    figure.savefig(target, dpi=110)


def accuracy(axes: Axes, metrics: Rows, evaluations: Rows) -> None:
    lines(axes, metrics, {"accuracy/all": ("training, all generated", GREY)})
    if evaluations:
        steps = [row["step"] for row in evaluations]
        values = [row["avg"] for row in evaluations]
        low = [row["avg"] - row["low"] for row in evaluations]
        high = [row["high"] - row["avg"] for row in evaluations]
        label = f"held out, avg@{evaluations[0]['k']}, 95%"
        axes.errorbar(steps, values, yerr=[low, high], color=BLUE, marker="o", capsize=3, label=label)
        axes.plot(steps, [row["greedy"] for row in evaluations], color=ORANGE, marker="s", label="held out, greedy")
    axes.set_ylim(0, 1.02)
    axes.set_title("accuracy")


def lengths(axes: Axes, metrics: Rows) -> None:
    lines(axes, metrics, {"completions/mean_length": ("mean tokens", BLUE)})
    axes.set_ylim(0, 1.35 * max(series(metrics, "completions/mean_length")[1], default=1.0))
    axes.set_title("completion length")
    share = axes.twinx()
    share.plot(*series(metrics, "completions/clipped_ratio"), color=RED, linestyle="--")
    share.set_ylim(0, 1)
    share.set_ylabel("truncated share")
    axes.plot([], [], color=RED, linestyle="--", label="truncated share (right)")


def fates(axes: Axes, ledger: Rows) -> None:
    steps = [row["step"] for row in ledger]
    floor = [0] * len(ledger)
    for name, (colour, label) in FATES.items():
        heights = [row[name] for row in ledger]
        if any(heights):
            axes.bar(steps, heights, bottom=floor, color=colour, width=0.9, label=label)
            floor = [low + height for low, height in zip(floor, heights, strict=True)]
    axes.set_title("groups sampled, by fate")


def lines(axes: Axes, metrics: Rows, names: Mapping[str, tuple[str, str]]) -> None:
    for name, (label, colour) in names.items():
        axes.plot(*series(metrics, name), color=colour, label=label)


def series(metrics: Rows, name: str) -> tuple[list[int], list[float]]:
    """Steps and values of a metric, where it was measured."""
    rows = [(row["step"], row[name]) for row in metrics if row.get(name) is not None]
    return [step for step, _ in rows], [value for _, value in rows]
