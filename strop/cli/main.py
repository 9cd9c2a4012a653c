"""The entry of the `strop` command: which commands there are, and how an error becomes one line and an exit code.

0 done   1 a bug in strop   2 usage or configuration   3 does not fit   4 data   5 reward   6 numerics   130 Ctrl-C
"""

from __future__ import annotations

import errno
import io
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from strop.cli import algorithms, check, config, explain, export, init, plan, reward, train
from strop.cli import eval as evaluation
from strop.cli.help import WithKeys
from strop.cli.safe import visible
from strop.cli.train import INTERRUPTED
from strop.errors import ConfigError, DoesNotFit, StropError
from strop.watch import Stopped

app = typer.Typer(
    name="strop",
    help="Sharpens a language model with DAPO and its relatives.",
    epilog="strop train, without any argument, sharpens the embedded policy in a few minutes on a CPU.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PASS_ON = {"ignore_unknown_options": True, "allow_extra_args": True}
app.command("train", cls=WithKeys, context_settings=PASS_ON)(train.train)
app.command("eval", context_settings=PASS_ON)(evaluation.evaluate)
app.command("check", context_settings=PASS_ON)(check.check)
app.command("config", context_settings=PASS_ON)(config.show)
app.command("plan", context_settings=PASS_ON)(plan.plan)
app.command("explain", context_settings=PASS_ON)(explain.explain)
app.command("reward", context_settings=PASS_ON)(reward.reward)
app.command("export")(export.export)
app.command("init")(init.init)
app.command("algorithms")(algorithms.algorithms)


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error. Goes anywhere.")] = False,
) -> None:
    """Sharpens a language model with DAPO and its relatives."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and context.invoked_subcommand != "train":
        raise ConfigError(f"strop {context.invoked_subcommand} works in one process: start it without torchrun")


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command line; -> its exit code. Errors are one line on stderr; `--debug` raises them instead."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = [argument for argument in arguments if argument != "--debug"]
    try:
        code = app(given or ["--help"], prog_name="strop", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in arguments:
            raise
        return explained(error)


def explained(error: BaseException) -> int:
    """Say in one line on stderr what went wrong; -> the exit code."""
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader left, as `head` does; leave quietly
        return 0
    text, code = diagnosis(error)
    if is_heard(error):
        rank = os.environ.get("RANK", "0")
        print(f"strop: {f'rank {rank}: ' if rank != '0' else ''}{visible(text)}", file=sys.stderr)
    return code


def is_heard(error: BaseException) -> bool:
    """Whether this process is the one to say it: what every rank of a machine meets alike is said once."""
    alike = isinstance(error, StropError | KeyboardInterrupt | typer.TyperException)
    return not alike or os.environ.get("LOCAL_RANK", "0") == "0"


def diagnosis(error: BaseException) -> tuple[str, int]:
    """What to say about an error, and the exit code."""
    if isinstance(error, KeyboardInterrupt | Stopped | typer.Abort):
        return "interrupted", INTERRUPTED
    if isinstance(error, StropError):
        return str(error), error.exit_code
    if isinstance(error, typer.TyperException):
        return _usage(error), ConfigError.exit_code
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        text = "out of memory: lower rollout.rows if it happened while sampling, else train.tokens_per_micro_batch"
        return text, DoesNotFit.exit_code
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"the disk is full: {error.filename or 'make room and run again'}", DoesNotFit.exit_code
    return f"this is a bug in strop: {type(error).__name__}: {error}; report it with {report(error)}", 1


def _usage(error: typer.TyperException) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"{message.rstrip('.')}; strop --help lists what there is"


def report(error: BaseException) -> str:
    """The path of a file with the traceback, for a bug report; it holds no settings and no values."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="backslashreplace", prefix="strop-bug-", suffix=".txt", delete=False
    ) as file:
        file.write(f"strop, {time.strftime('%Y-%m-%d %H:%M:%S')}, Python {sys.version.split()[0]}, {sys.platform}\n\n")
        file.write("".join(traceback.format_exception(error)))
    return file.name
