"""What is said of a completion over which a reward raised or was late, and what to do about it."""

from __future__ import annotations

from traceback import walk_tb

from strop.rewards.builtin import BUILTIN
from strop.rewards.values import LONGEST, Value, one_line, said

IMPORT_IT = "import it at the top of the reward's file"


def failed(name: str, label: str, error: BaseException, limit_s: float) -> Value:
    """The value of a completion over which a reward raised `error`, or was given up after `limit_s` seconds."""
    if isinstance(error, TimeoutError) and limit_s and not str(error):
        return Value(error=too_long(name, label, limit_s))
    text, advice = f"reward {name} raised {said(error)} (prompt {label})", advised(name, error)
    room = LONGEST - len(advice) - 2
    return Value(error=one_line(f"{text[:room]}; {advice}" if advice else text))


def advised(name: str, error: BaseException) -> str:
    """What to do about what a reward raised; "" of a built-in one, whose error says it."""
    if importing(error):
        return f"task.scoring.memory_mb bounds it; {IMPORT_IT}"
    if isinstance(error, MemoryError):
        return "task.scoring.memory_mb bounds it"
    return "" if name in BUILTIN else "a reward must return a number for every completion, whatever the model wrote"


def importing(error: BaseException) -> bool:
    """Whether an import ran out of memory: a library could not be mapped, or a module was being executed."""
    if isinstance(error, ImportError):
        return "failed to map segment" in str(error) or "annot allocate memory" in str(error)
    frames = (frame.f_code for frame, _ in walk_tb(error.__traceback__))
    within = any(code.co_name == "<module>" or code.co_filename.startswith("<frozen importlib") for code in frames)
    return isinstance(error, MemoryError) and within


def too_long(name: str, label: str, limit_s: float, *, first: bool = False) -> str:
    """What is said of a completion over which a reward took too long, the `first` one of its process or another."""
    text = f"reward {name} took more than {limit_s:g} s over one completion of prompt {label}"
    advice = f"; that was the first call in its process: if it imported something then, {IMPORT_IT}" if first else ""
    return one_line(f"{text}; task.scoring.deadline_s is what it may take{advice}")
