"""What a program might do to the machine: each probe prints REACHED where it got what it was after.

python tests/rewards/probes.py sandbox|bare        runs all of them, and prints what became of each as JSON

Bare, they must all reach: a probe that cannot do its harm without a sandbox proves nothing of one. Those in ROOT_ONLY
are beyond any plain user's rights, so bare they are tried as root alone.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from strop.rewards.sandbox import Ended, Limits, start

LIMITS = Limits(cpu_s=1, memory_mb=512, files_mb=16, output_mb=4, threads=16)
SECRET = "a secret of the environment"  # noqa: S105
"""Whoever runs this file gives it as STROP_PROBE."""
CALL = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == 'aarch64'
def call(x86, aarch, *values):
    whole = [ctypes.c_long(value) if isinstance(value, int) else value for value in (aarch if arm else x86, *values)]
    return libc.syscall(*whole)
"""

PROBES = {
    "read the users of the host": "assert 'root' in open('/etc/passwd').read()",
    "read a file of the user": "assert open(given['file']).read() == 'marker'",
    "list the folder of the user": "assert os.listdir(given['folder'])",
    "list the home of root": "assert set(os.listdir('/root')) - {given['python_home']}",
    "read strop's own source": "assert open(given['source']).read()",
    "follow a symlink out": "os.symlink(given['file'], 'link'); assert open('link').read() == 'marker'",
    "make a hard link out": "os.link(given['file'], given['folder'] + '/hard'); assert open(given['folder'] + '/hard')",
    "write a file of the user": "open(given['folder'] + '/written', 'w').write('x')",
    "write into /usr": "open('/usr/probe', 'w').write('x'); os.unlink('/usr/probe')",
    "write into the packages": "open(given['packages'] + '/probe', 'w'); os.unlink(given['packages'] + '/probe')",
    "connect to a listener of the host": "socket.create_connection(('127.0.0.1', given['port']), 2)",
    "send a datagram to the host": """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', given['udp'])); s.send(b'x')
s.settimeout(2); assert s.recv(9) == b'y'""",
    "connect to an abstract socket": "socket.socket(socket.AF_UNIX).connect('\\0' + given['abstract'])",
    "connect to a socket file": "socket.socket(socket.AF_UNIX).connect(given['folder'] + '/socket')",
    "open a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "see a process of the host": "assert str(given['victim']) in os.listdir('/proc')",
    "signal a process of the host": "os.kill(given['victim'], 0)",
    "kill a process of the host": "os.kill(given['doomed'], signal.SIGKILL)",
    "read a secret of the environment": f"assert {SECRET!r} in os.environ.values()",
    "read the environment of a parent": f"assert {SECRET!r} in open(f'/proc/{{os.getppid()}}/environ').read()",
    "write into a file left open": "os.write(given['open'], b'x')",
    "be traced": f"{CALL}\nassert libc.ptrace(0, 0, 0, 0) == 0",
    "read the memory of a process": f"""{CALL}
class V(ctypes.Structure): _fields_ = [('at', ctypes.c_void_p), ('length', ctypes.c_size_t)]
a, b = ctypes.create_string_buffer(b'data'), ctypes.create_string_buffer(5)
mine, its = V(ctypes.addressof(b), 4), V(ctypes.addressof(a), 4)
assert call(310, 270, os.getpid(), ctypes.byref(mine), 1, ctypes.byref(its), 1, 0) == 4""",
    "make a user namespace": f"{CALL}\nassert libc.unshare(0x10000000) == 0",
    "clone into a user namespace": f"""{CALL}
pid = call(56, 220, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
assert pid > 0""",
    "mount a file system": f"""{CALL}
assert libc.unshare(0x10020000) == 0
assert libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0""",
    "change its personality": f"{CALL}\nassert libc.personality(0x0040000) != -1",
    "take a handle of a file": f"""{CALL}
handle = ctypes.create_string_buffer(64); handle[0] = 40; at = ctypes.c_int()
assert call(303, 264, -100, b'/usr', handle, ctypes.byref(at), 0) == 0""",
    "use System V memory": f"{CALL}\nassert libc.shmget(0, 4096, 0o1600) >= 0",
    "hide memory in a memfd": "fd = os.memfd_create('x'); os.write(fd, bytes(1 << 20))",
    "open a terminal": "os.open('/dev/ptmx', os.O_RDWR)",
    "run another program": "os.spawnv(os.P_WAIT, '/bin/sh', ['sh', '-c', 'echo out']) == 0 or 1 / 0",
    "become another program": "os.execv('/bin/sh', ['sh', '-c', 'echo REACHED'])",
    "bomb with forks": """
for _ in range(100):
    if os.fork() == 0: time.sleep(0.5); os._exit(0)""",
    "bomb with threads": """
threads = [threading.Thread(target=time.sleep, args=(0.3,)) for _ in range(200)]
[thread.start() for thread in threads]""",
    "leave a daemon": "if os.fork() == 0: os.setsid(); time.sleep(0.3); os._exit(0)",
    "take 2 GB": "held = bytes(2 << 30)",
    "take 2 GB in small pieces": "held = [mmap.mmap(-1, 1 << 24) for _ in range(128)]",
    "spin": "began = time.process_time()\nwhile time.process_time() < began + 1.2: pass",
    "spin and ignore the signal": """
signal.signal(signal.SIGXCPU, signal.SIG_IGN); began = time.process_time()
while time.process_time() < began + 1.2: pass""",
    "fill the disk": """
for n in range(20):
    with open(f'fill{n}', 'wb') as file: file.write(bytes(2 << 20))
    assert os.path.getsize(f'fill{n}') == 2 << 20""",
    "fill the disk with one file": "with open('fill', 'wb') as file: file.write(bytes(12 << 20))",
    "flood its output": "for _ in range(600): print('x' * (1 << 14))",
    "become root": "os.setuid(0)",
    "take a device": "os.open('/dev/kmsg', os.O_RDONLY)",
    "make a device": "os.mknod('node', 0o20600, os.makedev(1, 3)); open('node').read()",
    "write a setting of the kernel": """
path = '/proc/sys/vm/overcommit_ratio'; value = open(path).read(); open(path, 'w').write(value)""",
    "rename the host": f"{CALL}\nname = socket.gethostname().encode(); assert libc.sethostname(name, len(name)) == 0",
    "change its root": "os.chroot('/usr')",
    "read the kernel's log": f"{CALL}\nassert libc.klogctl(3, ctypes.create_string_buffer(99), 99) >= 0",
}
ROOT_ONLY = {
    *("list the home of root", "write into /usr", "write into the packages", "become root", "take a device"),
    *("make a device", "write a setting of the kernel", "rename the host", "change its root", "read the kernel's log"),
}
HEAD = "import json, mmap, os, signal, socket, sys, threading, time\ngiven = json.loads(input())\n"


@contextmanager
def surroundings() -> Iterator[dict[str, Any]]:
    """What there is to be had on the host: files, listeners, a process, a secret, an open file."""
    victim, doomed = (subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) for _ in range(2))
    with tempfile.TemporaryDirectory(prefix="probes-") as folder, socket.socket() as tcp:
        os.chmod(folder, 0o777)  # noqa: S103
        Path(folder, "file").write_text("marker")
        tcp.bind(("127.0.0.1", 0))
        abstract, path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0strop-probe-{os.getpid()}")
        path.bind(f"{folder}/socket")
        for listener in (tcp, abstract, path):
            listener.listen(64)
        echo = "import socket,sys\ns=socket.socket(fileno=0)\nwhile 1: s.sendto(b'y', s.recvfrom(9)[1])"
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        answering = subprocess.Popen([sys.executable, "-c", echo], stdin=udp)
        left_open = os.open(f"{folder}/open", os.O_RDWR | os.O_CREAT)
        os.set_inheritable(left_open, True)
        yield {
            "folder": folder,
            "file": f"{folder}/file",
            "source": str(Path(__file__).parents[2] / "strop" / "types.py"),
            "packages": os.path.dirname(json.__file__),
            "python_home": Path(sys.base_prefix).relative_to("/root").parts[0] if "/root" in sys.base_prefix else "",
            "port": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "abstract": f"strop-probe-{os.getpid()}",
            "victim": victim.pid,
            "doomed": doomed.pid,
            "open": left_open,
        }
        for process in (victim, doomed, answering):
            process.kill()
            process.wait()


def program(name: str) -> str:
    return f"{HEAD}{PROBES[name]}\nprint('REACHED', flush=True)\n"


def in_sandbox(name: str, given: dict[str, Any]) -> str:
    until = time.monotonic() + 60
    with start(program(name), "auto", limits=LIMITS, until=until) as session:
        try:
            found = session.ask({"input": json.dumps({**given, "bare": False}), "seconds": 5}, until, 64 << 20)
        except Ended as ended:
            return f"contained: {ended}"
    said = (found["error"].strip().splitlines() or [str(found["status"])])[-1]
    return "reached" if "REACHED" in found["output"] else f"contained: {'late' if found['late'] else said}"


def bare(name: str, given: dict[str, Any]) -> str:
    with tempfile.TemporaryDirectory(prefix="probes-") as here:
        done = subprocess.run(
            [sys.executable, "-c", program(name)],
            input=json.dumps({**given, "bare": True}),
            capture_output=True,
            text=True,
            check=False,
            cwd=here,
            close_fds=False,
        )
    return "reached" if "REACHED" in done.stdout else f"contained: {done.stderr.strip()[-200:]}"


def main() -> None:
    assert os.environ["STROP_PROBE"] == SECRET
    run = {"sandbox": in_sandbox, "bare": bare}[sys.argv[1]]
    skipped = ROOT_ONLY if sys.argv[1] == "bare" and os.geteuid() != 0 else set()
    with surroundings() as given:
        found = {name: run(name, given) for name in PROBES if name not in skipped}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
