"""A run of two ranks is the run of one process: rollouts, ledger, metrics and weights; and the ranks end together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file

import strop
from strop.run.store import read_rows
from tests.ranks import finished, start, wait_for_rows

pytestmark = pytest.mark.xdist_group("ranks")

SMALL: dict[str, Any] = {
    "algorithm": "grpo",
    "rollout": {"prompts": 5, "completions": 4, "max_tokens": 48, "overlong": {"buffer": 24}},
    "train": {"steps": 2, "updates": 2, "learning_rate": 3e-4, "warmup_steps": 0},
    "eval": {"prompts": 7, "completions": 2, "every": 0},
}
END_S = 30.0
"""Within this time a dead rank has ended the others."""


def command(folder: Path, name: str, *flags: str) -> list[str]:
    file = folder / "small.yaml"
    file.write_text(json.dumps({**SMALL, "runs": str(folder)}))
    return ["-m", "strop", "train", str(file), "--run", name, *flags]


def outcome(processes: list[subprocess.Popen[str]]) -> tuple[list[int], list[str]]:
    """Exit codes and what was printed on stderr, of every rank."""
    printed = [finished(process)[1] for process in processes]
    return [process.returncode for process in processes], printed


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of one process, of an odd number of prompts."""
    folder = tmp_path_factory.mktemp("runs")
    return strop.train({**SMALL, "runs": str(folder), "run": "one"}).folder


@pytest.mark.parametrize("parallel", ["data", "fsdp"])
def test_two_ranks_make_the_run_of_one_process(parallel: str, alone: Path, tmp_path: Path) -> None:
    codes, printed = outcome(start(2, *command(tmp_path, "two", "--train.parallel", parallel)))
    assert codes == [0, 0], printed
    assert printed == ["", ""]
    two = tmp_path / "two"
    assert read_rows(two / "ledger.jsonl") == read_rows(alone / "ledger.jsonl")
    for step in (1, 2):
        tables = [pq.read_table(run / "rollouts" / f"step-{step:06d}.parquet").to_pylist() for run in (alone, two)]
        for mine, theirs in zip(*tables, strict=True):
            assert mine.pop("sampler_logp") == pytest.approx(theirs.pop("sampler_logp"), abs=1e-5)
            assert mine == theirs
    for mine, theirs in zip(read_rows(two / "metrics.jsonl"), read_rows(alone / "metrics.jsonl"), strict=True):
        for name in theirs.keys() - {"padding_share", "time/sample", "time/train", "time/step"}:
            expected = theirs[name]
            assert mine[name] == (expected if expected is None else pytest.approx(expected, rel=1e-4, abs=1e-6)), name
    summaries = [json.loads((run / "summary.json").read_text()) for run in (alone, two)]
    assert summaries[0]["accuracy_after"] == summaries[1]["accuracy_after"]
    for file in ("model.safetensors", "optimizer.safetensors"):
        mine, theirs = (load_file(run / "checkpoints" / "step-000002" / file) for run in (two, alone))
        assert mine.keys() == theirs.keys()
        assert all((mine[name].double() - theirs[name].double()).abs().max() < 1e-5 for name in mine)
    assert json.loads((two / "checkpoints/step-000002/config.json").read_text())["architectures"] == [
        "LlamaForCausalLM"
    ]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_dead_rank_ends_the_others_with_its_name(victim: int, tmp_path: Path) -> None:
    processes = start(2, *command(tmp_path, "r", "--train.steps", "500"))
    wait_for_rows(tmp_path / "r" / "metrics.jsonl", 2, processes)
    processes[victim].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    codes, printed = outcome(processes)
    assert time.monotonic() - killed < END_S
    assert codes[victim] == -signal.SIGKILL and codes[1 - victim] == 1
    assert f"strop: rank {victim} (process {processes[victim].pid} on" in printed[1 - victim]
    assert "Traceback" not in printed[1 - victim]


def test_ctrl_c_on_one_rank_ends_all_at_a_whole_step_that_is_saved(tmp_path: Path) -> None:
    processes = start(2, *command(tmp_path, "r", "--train.steps", "500"))
    wait_for_rows(tmp_path / "r" / "metrics.jsonl", 2, processes)
    processes[1].send_signal(signal.SIGINT)
    codes, printed = outcome(processes)
    assert codes == [130, 130] and "died" not in "".join(printed)
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["verdict"] == "interrupted"
    assert (tmp_path / "r" / "checkpoints" / f"step-{summary['steps']:06d}" / "MANIFEST.json").is_file()


REWARD = """
def score(prompt, completion, **columns):
    raise ValueError("no verdict")
"""


def test_a_reward_that_fails_is_one_line_from_the_first_rank_and_the_same_code_from_all(tmp_path: Path) -> None:
    prompts = [f"{i % 10}+{(i * 7) % 10}=" for i in range(40)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps({"prompt": text}) + "\n" for text in prompts))
    (tmp_path / "reward.py").write_text(REWARD)
    flags = ["--task.file", str(tmp_path / "p.jsonl"), "--task.reward", f"{tmp_path / 'reward.py'}:score"]
    codes, printed = outcome(start(2, *command(tmp_path, "r", *flags)))
    assert codes == [5, 5]
    assert printed[0].count("strop: ") == 1 and "could be scored, such as" in printed[0] and "no verdict" in printed[0]
    assert printed[1] == ""


TWICE = """
import sys
import strop

small = {SMALL}
for number in (1, 2):
    def heard(row):
        if number == 2:
            raise strop.errors.DataError("the listener has enough")
    try:
        strop.train({**small, "runs": sys.argv[1], "run": f"run{number}"}, on_step=heard)
    except strop.errors.DataError as error:
        print(f"ended: {error}", flush=True)
"""


def test_a_script_trains_twice_under_torchrun_and_what_a_listener_raises_ends_all_ranks(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(TWICE.replace("{SMALL}", repr(SMALL)))
    torchrun = [str(Path(sys.executable).parent / "torchrun"), "--nproc-per-node", "2", str(script), str(tmp_path)]
    done = subprocess.run(torchrun, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("ended: the listener has enough") == 2
    assert (tmp_path / "run1" / "checkpoints" / "step-000002" / "MANIFEST.json").is_file()
    assert json.loads((tmp_path / "run2" / "summary.json").read_text())["verdict"].startswith("stopped: the listener")
    assert json.loads((tmp_path / "run1" / "environment.json").read_text())["ranks"] == 2


def test_a_setting_that_cannot_be_is_one_line_for_a_machine(tmp_path: Path) -> None:
    codes, printed = outcome(start(2, *command(tmp_path, "r", "--train.updates", "6")))
    assert codes == [2, 2]
    assert [len(text.splitlines()) for text in printed] == [1, 0]
