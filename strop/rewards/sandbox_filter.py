"""The system calls that a sandboxed program may not make, as a seccomp filter: the words that the kernel reads.

Refused with EPERM: to make a process or become another program, to look into another process, to mount, to make or
enter a namespace, the kernel's key rings, BPF, io_uring, tracing, modules, the clock, memory that RLIMIT_AS does not
count (memfd, System V segments and queues). A thread may be made. Sockets are of the UNIX and the Internet families;
AF_VSOCK, for one, would reach the host of a virtual machine from any network namespace. What is newer than this table
is unknown to it (ENOSYS), and a call by the numbers of another architecture kills the program.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

REFUSED = {
    **{"execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None)},
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272)},
    **{"pidfd_getfd": (438, 438), "process_madvise": (440, 440)},
    **{"mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51)},
    **{"open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431)},
    **{"fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442)},
    **{"unshare": (272, 97), "setns": (308, 268)},
    **{"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)},
    **{"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282)},
    **{"io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427)},
    **{"init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106)},
    **{"kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "syslog": (103, 116)},
    **{
        "swapon": (167, 224),
        "swapoff": (168, 225),
        "acct": (163, 89),
        "quotactl": (179, 60),
        "quotactl_fd": (443, 443),
    },
    **{"settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171)},
    **{"sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58), "personality": (135, 92)},
    **{"iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None)},
    **{"nfsservctl": (180, 42), "lookup_dcookie": (212, 18)},
    **{"name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265)},
    **{"fanotify_init": (300, 262), "fanotify_mark": (301, 263)},
    **{"memfd_create": (319, 279), "memfd_secret": (447, 447)},
    **{"shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180)},
    **{"move_pages": (279, 239), "migrate_pages": (256, 238), "mbind": (237, 235), "set_mempolicy": (238, 237)},
}
"""System call -> its number on x86_64 and on aarch64; None where there is none."""

CLONE, CLONE3, SOCKET = (56, 220), (435, 435), (41, 198)
LAST = 450
"""The last system call that the table was made with (Linux 5.17)."""

FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6."""

CLONE_THREAD = 0x10000
LOAD, EQUAL, GREATER, HAS, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Where struct seccomp_data holds them; of the argument its lower half, on a little-endian machine."""

ALLOW, KILL = 0x7FFF0000, 0x80000000


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine's place in the table of numbers, and the kernel's word for its architecture."""

    column: int
    audit: int


MACHINES = {"x86_64": Machine(0, 0xC000003E), "aarch64": Machine(1, 0xC00000B7)}


def refuse(error: int) -> int:
    return 0x00050000 | error


def word(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One struct sock_filter: if the test holds, skip `yes` words, else `no`."""
    return struct.pack("<HBBI", code, yes, no, value)


def seccomp(machine: str) -> bytes:
    """The filter of a machine of MACHINES: an array of struct sock_filter."""
    column, audit = MACHINES[machine].column, MACHINES[machine].audit
    words = [word(LOAD, ARCHITECTURE), word(EQUAL, audit, yes=1), word(RETURN, KILL), word(LOAD, NUMBER)]
    words += [word(GREATER, LAST, no=1), word(RETURN, refuse(errno.ENOSYS))]
    words += [word(EQUAL, CLONE3[column], no=1), word(RETURN, refuse(errno.ENOSYS))]
    for numbers in REFUSED.values():
        number = numbers[column]
        if number is not None:
            words += [word(EQUAL, number, no=1), word(RETURN, refuse(errno.EPERM))]
    words += [word(EQUAL, CLONE[column], no=4), word(LOAD, FIRST_ARGUMENT)]
    words += [word(HAS, CLONE_THREAD, yes=1), word(RETURN, refuse(errno.EPERM)), word(RETURN, ALLOW)]
    families = [word(EQUAL, family, yes=len(FAMILIES) - place) for place, family in enumerate(FAMILIES)]
    words += [word(EQUAL, SOCKET[column], no=len(families) + 2), word(LOAD, FIRST_ARGUMENT), *families]
    words += [word(RETURN, refuse(errno.EAFNOSUPPORT)), word(RETURN, ALLOW)]
    return b"".join(words)
