"""A rank that dies is known by name to the others at once, and they end instead of waiting for it.

Every rank keeps one connection to rank 0 for the whole run. A process that ends, however it ends, loses its
connections: the kernel says so within milliseconds, and keepalive probes tell of a machine that is gone within 20 s.
Nothing beats in the background, so a rank that computes for an hour is not taken for a dead one. Whoever leaves in good
order says so first.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import selectors
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from strop.errors import ConfigError

KEY = "strop/alive"
PROBES = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""Seconds without a word, seconds between probes, probes without an answer: gone after 20 s."""

JOIN_S = 60.0
"""How long rank 0 waits for the others to connect."""


def ended(name: str) -> None:
    """What happens when a rank is lost: say which, and end this process. Whatever it waits for will not come."""
    print(f"strop: {name} died; this rank ends with it. What was saved before is whole", file=sys.stderr, flush=True)
    os._exit(1)


@dataclass(slots=True)
class Alive:
    """This rank's connections to the others: rank 0 has one to each, every other rank one to rank 0."""

    name: str
    names: dict[socket.socket, str]
    lost: Callable[[str], None] = ended
    left: bool = False
    told: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def watching(
        cls,
        store: Any,
        *,
        rank: int,
        ranks: int,
        address: str,
        one_machine: bool = True,
        lost: Callable[[str], None] = ended,
    ) -> Alive:
        """Connect all ranks, through a store that they share, and begin to watch."""
        mine = f"rank {rank} (process {os.getpid()} on {socket.gethostname()})"
        if rank == 0:
            names = _accepted(store, mine, ranks, address, "" if not one_machine else address)
        else:
            names = _connected(store, mine, rank)
        alive = cls(mine, names, lost)
        os.register_at_fork(after_in_child=alive.forget)
        threading.Thread(target=alive._watch, name="strop-alive", daemon=True).start()
        return alive

    def leave(self) -> None:
        """Say that this rank ends in good order."""
        self.left = True
        for connection in self.names:
            _send(connection, "bye")

    def fall(self) -> None:
        """Say that this rank ends alone, though its process may go on."""
        self.left = True
        for connection in self.names:
            _send(connection, self.name)

    def forget(self) -> None:
        """In a forked child: let go of the connections, which would look alive for as long as the child does."""
        for connection in self.names:
            connection.close()

    def wait(self, seconds: float) -> None:
        """Give the news of a death time to arrive: a broken collective may be told a little before its cause."""
        self.told.wait(seconds)

    def _watch(self) -> None:
        with selectors.DefaultSelector() as selector:
            for connection in self.names:
                selector.register(connection, selectors.EVENT_READ)
            while selector.get_map():
                self._hear([key for key, _ in selector.select()], selector)

    def _hear(self, ready: Sequence[selectors.SelectorKey], selector: selectors.BaseSelector) -> None:
        """One word from each: a farewell, the name of a rank that died, or none, from one that died itself."""
        for key in ready:
            connection: Any = key.fileobj
            word = _word(connection)
            selector.unregister(key.fd)
            if word != "bye" and not self.left:
                self._tell(word or self.names[connection], but=connection)

    def _tell(self, name: str, *, but: socket.socket) -> None:
        """Rank 0 passes a death on to every other rank; then this one ends too."""
        for connection in self.names:
            if connection is not but:
                _send(connection, name)
        self.told.set()
        self.lost(name)


def _accepted(store: Any, mine: str, ranks: int, address: str, bound: str) -> dict[socket.socket, str]:
    """Rank 0: where to connect goes to the store with a secret; -> the connections of those that know it.

    It listens at `bound`; "" is every address: a machine's name may mean another address there than elsewhere.

    Raises:
        ConfigError: a rank did not connect in time.
    """
    secret, names = secrets.token_hex(16), dict[socket.socket, str]()
    with _listening(address, bound) as server:
        store.set(KEY, json.dumps({"host": address, "port": server.getsockname()[1], "secret": secret, "name": mine}))
        server.settimeout(JOIN_S)
        while len(names) < ranks - 1:
            try:
                connection, _ = server.accept()
            except TimeoutError:
                missing = f"only {len(names) + 1} of {ranks} ranks came within {JOIN_S:.0f} s"
                raise ConfigError(f"{missing}: is {address} the address of rank 0 on every machine?") from None
            connection.settimeout(JOIN_S)
            given, _, name = _word(connection).partition(" ")
            if hmac.compare_digest(given.encode(), secret.encode()):
                names[_kept(connection)] = name
                _send(connection, "welcome")
            else:
                connection.close()
    return names


def _connected(store: Any, mine: str, rank: int) -> dict[socket.socket, str]:
    """Any other rank: -> its connection to rank 0."""
    there = json.loads(store.get(KEY))
    connection = socket.create_connection((there["host"], there["port"]), timeout=JOIN_S)
    _send(connection, f"{there['secret']} {mine}")
    if _word(connection) != "welcome":
        raise ConnectionError(f"rank {rank} was not let in by {there['name']}")
    return {_kept(connection): there["name"]}


def _listening(address: str, bound: str) -> socket.socket:
    """A port of the family of the address that the launcher gave."""
    family = socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server((bound, 0), family=family)


def _kept(connection: socket.socket) -> socket.socket:
    """The connection, blocking, with keepalive probes."""
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in PROBES.items():
        if hasattr(socket, option):  # macOS has other names for some
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return connection


def _send(connection: socket.socket, word: str) -> None:
    try:
        connection.sendall(word.encode() + b"\n")
    except OSError:
        return  # it is gone already, which its reader is told too


def _word(connection: socket.socket) -> str:
    """One line from the connection; "" if it ended without one."""
    held = b""
    try:
        while not held.endswith(b"\n"):
            piece = connection.recv(1)
            if not piece:
                return ""
            held += piece
    except OSError:
        return ""
    return held.decode(errors="replace").strip()
