"""What runs in a sandbox beside a program: it lays down its rights, then runs the program as it is asked to.

strop.rewards.sandbox starts it with `python -c`, so it needs the standard library and nothing else. One JSON line a
request on stdin, one JSON line an answer on stdout:

    {"program": text, "limits": {...}, ...}             {"ready": true}, or {"failed": why}: the sandbox is not fit
    {"input": text, "seconds": s}                       {"output": text, "error": tail, "status": n, "late": bool}
    {"confine": true}                                   {"ready": true}: the program may have this process
    {"load": [names], "given": [[module, name]]}        {"names": {name: value}}, or {"raised": [type, text]}
    {"do": "call", "on": value, "args": [], "names": {}}    {"value": value}, or {"raised": [type, text]}

`input` runs the program afresh, in a process of its own. `load` imports it into this process, once; `do` then calls
what it defines. An answer is the program's word: it can write any. So nothing in here knows what a right answer is.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.util
import json
import operator
import os
import resource
import select
import signal
import site
import sys
import time
from typing import Any

SMALL = 2**53
TAIL = 2_000
PR_SET_DUMPABLE, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 4, 22, 2
OPERATIONS = {"call": operator.call, "get": getattr, "item": operator.getitem, "list": list, "len": len}
OPERATIONS |= {"bool": bool, "str": str, "repr": repr}
PLAIN = {
    type(None): lambda value, pack: None,
    bool: lambda value, pack: value,
    int: lambda value, pack: int(value) if -SMALL < value < SMALL else {"int": hex(value)},
    float: lambda value, pack: float(value),
    str: lambda value, pack: str(value),
    list: lambda value, pack: [pack(item) for item in value],
    tuple: lambda value, pack: {"tuple": [pack(item) for item in value]},
    set: lambda value, pack: {"set": [pack(item) for item in value]},
    frozenset: lambda value, pack: {"frozenset": [pack(item) for item in value]},
    dict: lambda value, pack: {"dict": [[pack(key), pack(item)] for key, item in value.items()]},
    bytes: lambda value, pack: {"bytes": value.hex()},
    complex: lambda value, pack: {"complex": [value.real, value.imag]},
}
"""How plain data of each type is packed: an int of any size, a float to its last bit, a container item by item."""


class Handle:
    """A value that is no plain data: it stays where it is, and only its number travels."""

    def __init__(self, number: int) -> None:
        self.number = number


def packed(value: Any, kept: list[Any]) -> Any:
    """The value as JSON: plain data by value, each of its own type; anything else is `kept` and named by a number."""
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    for kind, pack in PLAIN.items():
        if isinstance(value, kind):
            return pack(value, lambda inner: packed(inner, kept))
    if not isinstance(value, Handle):
        kept.append(value)
    return {"handle": value.number if isinstance(value, Handle) else len(kept) - 1}


def unpacked(data: Any, handle: Any = Handle) -> Any:
    """The value that `packed` made `data` of; `handle` makes what stands for one that stayed behind.

    Raises:
        ValueError, TypeError, KeyError, RecursionError: it was made by something else.
    """
    if isinstance(data, list):
        return [unpacked(item, handle) for item in data]
    if not isinstance(data, dict):
        return data
    [(kind, held)] = data.items()
    if kind == "dict":
        return {unpacked(key, handle): unpacked(item, handle) for key, item in held}
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](unpacked(item, handle) for item in held)
    readers = {"int": lambda text: int(text, 16), "bytes": bytes.fromhex, "complex": lambda pair: complex(*pair)}
    return handle(held) if kind == "handle" else readers[kind](held)


class Lines:
    """The two pipes to strop, moved off stdin and stdout so that no print of the program lands there."""

    def __init__(self) -> None:
        self.requests, self.answers = os.fdopen(os.dup(0), "rb", closefd=False), os.dup(1)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for place in (0, 1):
            os.dup2(nowhere, place)

    def request(self) -> Any:
        line = self.requests.readline()
        return json.loads(line) if line else None

    def answer(self, message: dict[str, Any]) -> None:
        write(self.answers, json.dumps(message).encode() + b"\n")


class Filter(ctypes.Structure):  # struct sock_fprog
    _fields_ = (("length", ctypes.c_ushort), ("words", ctypes.c_char_p))


class Inside:
    """A program in its place, and the limits that it runs under."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.limits, self.words = start["limits"], bytes.fromhex(start["filter"])
        if uid := start["uid"]:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        for name in {"CORE", "NOFILE", "NPROC", "AS"} & set(self.limits):
            limit(name, self.limits[name])
        self.libc = ctypes.CDLL(None, use_errno=True)
        if self.words:
            self.prctl(PR_SET_DUMPABLE, 0)
        os.close(os.open(importlib.util.__file__, os.O_RDONLY))  # the library is readable for whom it now runs as
        sys.path.extend(start["packages"])
        site.setquit()
        self.path = os.path.join(os.getcwd(), "program.py")
        with open(self.path, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(start["program"])

    def prctl(self, option: int, *values: Any) -> None:
        if self.libc.prctl(option, *values, 0, 0, 0):
            raise OSError(ctypes.get_errno(), f"prctl {option} failed")

    def confine(self) -> None:
        """From here on: no process, no other program, and so many seconds and bytes."""
        for name in ("CPU", "FSIZE"):
            limit(name, self.limits[name])
        if self.words:
            words = Filter(len(self.words) // 8, self.words)
            self.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(words))

    def load(self, name: str, given: list[list[str]]) -> Any:
        """The program as the module `name`; what `given` names, ["math", "inf"] or ["math", ""], is there already."""
        spec = importlib.util.spec_from_file_location(name, self.path)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        for home, attribute in given:
            found = importlib.import_module(home)
            setattr(module, attribute or home, getattr(found, attribute) if attribute else found)
        sys.modules[name], sys.argv = module, [self.path]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        return module

    def once(self, text: str, seconds: float) -> dict[str, Any] | None:
        """What the program makes of an input, in a process of its own; None in that process, which is to run it."""
        files = [scratch() for _ in range(3)]
        write(files[0], text.encode("utf-8", "surrogatepass"))
        os.lseek(files[0], 0, os.SEEK_SET)
        gc.freeze()
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            for place, file in enumerate(files):
                os.dup2(file, place)
            self.confine()
            os.write(tell, b"confined")
            os.closerange(3, self.limits["NOFILE"])
            return None
        os.close(tell)
        confined = os.read(told, 8)
        os.close(told)
        status, late = ended(child, seconds)
        _, output, error = (whole(file) for file in files)
        if not confined:
            raise OSError(error[-TAIL:] or f"status {status}")
        return {"output": output, "error": error[-TAIL:], "status": status, "late": late}


def limit(name: str, value: int) -> None:
    """Lower a limit; one that is lower already stays. (macOS cannot limit memory so.)"""
    if sys.platform == "darwin" and name == "AS":
        return
    which = getattr(resource, f"RLIMIT_{name}")
    hard = resource.getrlimit(which)[1]
    lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (lowest, lowest))


def scratch() -> int:
    """A file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("strop")
    file = os.open(".scratch", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(".scratch")
    return file


def write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def whole(file: int) -> str:
    """The text of a file, which is closed."""
    with os.fdopen(file, "rb") as opened:
        opened.seek(0)
        return opened.read().decode("utf-8", "replace")


def ended(child: int, seconds: float) -> tuple[int, bool]:
    """The status of a process, minus its signal if one killed it; whether it had to be killed after so many seconds."""
    until, found, status = time.monotonic() + seconds, 0, 0
    while not found and time.monotonic() < until:
        rest(child, until - time.monotonic())
        found, status = os.waitpid(child, os.WNOHANG)
    if not found:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), not found


def rest(child: int, seconds: float) -> None:
    """Wait until a process ends, or so many seconds; a little, where the system does not say when it ends."""
    if not hasattr(os, "pidfd_open"):
        time.sleep(0.002)
        return
    file = os.pidfd_open(child)
    select.select([file], [], [], max(0.0, seconds))
    os.close(file)


def loaded(inside: Inside, request: dict[str, Any], kept: list[Any]) -> dict[str, Any]:
    names = vars(inside.load("program", request["given"]))
    return {"names": {name: packed(names[name], kept) for name in request["load"] if name in names}}


def done(request: dict[str, Any], kept: list[Any]) -> dict[str, Any]:
    on, places = unpacked([request["on"], request["args"]], kept.__getitem__)
    names = {name: unpacked(value, kept.__getitem__) for name, value in request.get("names", {}).items()}
    return {"value": packed(OPERATIONS[request["do"]](on, *places, **names), kept)}


def raised(error: BaseException) -> dict[str, Any]:
    text = ""
    with contextlib.suppress(BaseException):
        text = str(error)[:TAIL]
    return {"raised": [type(error).__name__, text]}


def failed(lines: Lines, error: BaseException) -> None:
    lines.answer({"failed": f"{type(error).__name__}: {error}"})


def serve(inside: Inside, lines: Lines) -> bool:
    """Answer until there is no further request; True in the process that is to run the program."""
    kept: list[Any] = []
    while (request := lines.request()) is not None:
        if "input" in request:
            found = inside.once(request["input"], request["seconds"])
            if found is None:
                return True
            lines.answer(found)
            continue
        if "confine" in request:
            inside.confine()
            lines.answer({"ready": True})
            continue
        try:
            found = loaded(inside, request, kept) if "load" in request else done(request, kept)
        except BaseException as error:
            found = raised(error)
        lines.answer(found)
    return False


def main(lines: Lines) -> None:
    try:
        inside = Inside(lines.request())
        lines.answer({"ready": True})
        os.dup2(1, 2)
        runs = serve(inside, lines)
    except Exception as error:
        lines.answer({"failed": f"{type(error).__name__}: {error}"})
        return
    if runs:
        inside.load("__main__", [])


if __name__ == "__main__":
    lines = Lines()
    main(lines)
