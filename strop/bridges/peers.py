"""Which peer is installed, and whether it is the version that its bridge was read against.

A peer lives in a virtualenv of its own, made by `make peer-NAME`: peers pin libraries against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest


@dataclass(frozen=True, slots=True)
class Peer:
    """Another trainer: its package, what people call it, the versions read (a prefix), and the one to install."""

    package: str
    title: str
    read: str
    install: str

    @property
    def how(self) -> str:
        return f"make peer-{self.package} and use .venv-{self.package}, or: pip install {self.package}=={self.install}"


PEERS = {
    "trl": Peer("trl", "TRL", "1.16", "1.16.0"),
    "verl": Peer("verl", "verl", "0.9.1", "0.9.1"),
}


def peer(name: str) -> Peer:
    """The peer of that name; a ConfigError with the nearest for any other."""
    if name not in PEERS:
        raise ConfigError(f"unknown peer {name!r}{did_you_mean(nearest(name, PEERS)) or ';'} use {' or '.join(PEERS)}")
    return PEERS[name]


def demand(name: str) -> str:
    """The installed version of a peer, where it is one that was read.

    Raises:
        ConfigError: an unknown peer; one that is not installed, with the command that does; another version.
    """
    wanted = peer(name)
    try:
        found = version(wanted.package)
    except PackageNotFoundError:
        raise ConfigError(f"{wanted.title} is not installed here: {wanted.how}") from None
    if found != wanted.read and not found.startswith(f"{wanted.read}."):
        wildcard = "" if wanted.read == wanted.install else ".x"
        raise ConfigError(
            f"{wanted.title} {wanted.read}{wildcard} is what this was read against; found {found}: {wanted.how}"
        )
    return found
