"""Weights & Biases, and trackio, which has the same calls. Both keep what they get in the run's folder.

Nothing leaves the machine unless the environment says so: WANDB_MODE=online for wandb, TRACKIO_SPACE_ID or
TRACKIO_SERVER_URL for trackio. What describes the machine (host, user, command line, git, installed packages,
system load) is switched off: it is in no run of strop's, and a tracker is no place for it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from strop.run.trackers import FINISH_S

PROJECT = "strop"
"""Where WANDB_PROJECT names no other."""


class Wandb:
    """A wandb run. `step` is the x-axis of every chart.

    wandb's own counter never goes back: it is the step too, until an older step comes, and one more for each row then.
    """

    def start(self, config: dict[str, Any], name: str, folder: Path) -> None:
        mode = os.environ.get("WANDB_MODE", "offline")
        if mode != "online":
            os.environ["WANDB_ERROR_REPORTING"] = "false"
        import wandb  # pyright: ignore[reportMissingImports]

        settings = wandb.Settings(
            console="off",
            disable_code=True,
            disable_git=True,
            finish_timeout=0.8 * FINISH_S,
            host="",
            save_code=False,
            silent=True,
            symlink=False,
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=name,
            config=config,
            dir=os.environ.get("WANDB_DIR", str(folder)),
            mode=mode,  # type: ignore[arg-type]
            settings=settings,
        )
        self.run.define_metric("step", hidden=True)
        self.run.define_metric("*", step_metric="step")
        self.count = 0

    def log(self, step: int, metrics: dict[str, float]) -> None:
        self.count = step if step >= self.count else self.count + 1
        self.run.log({**metrics, "step": step}, step=self.count)

    def finish(self, summary: dict[str, Any]) -> None:
        self.run.summary.update({f"run/{name}": value for name, value in summary.items()})
        self.run.finish()


class Trackio:
    """A trackio run. Its database is in RUN/trackio unless TRACKIO_DIR says where; no server and no browser starts."""

    def start(self, config: dict[str, Any], name: str, folder: Path) -> None:
        os.environ.setdefault("TRACKIO_DIR", str(folder / "trackio"))
        if not os.environ.keys() & {"TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL"}:
            os.environ["HF_HUB_OFFLINE"] = "1"  # it would ask the hub for the user's name
        import trackio  # pyright: ignore[reportMissingImports]

        self.run = trackio.init(
            project=PROJECT,
            name=name,
            config=config,
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def log(self, step: int, metrics: dict[str, float]) -> None:
        self.run.log(metrics, step=step)

    def finish(self, summary: dict[str, Any]) -> None:
        self.run.finish()
