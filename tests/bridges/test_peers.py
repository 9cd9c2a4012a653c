from __future__ import annotations

import pytest

from strop.bridges import peers
from strop.errors import ConfigError


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    def version(package: str) -> str:
        if package not in versions:
            raise peers.PackageNotFoundError(package)
        return versions[package]

    monkeypatch.setattr(peers, "version", version)


def test_an_unknown_peer_is_named_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(ConfigError, match=r"^unknown peer 'tlr'; did you mean trl\? use trl or verl$"):
        peers.demand("tlr")
    with pytest.raises(ConfigError, match=r"^unknown peer 'nemo'; use trl or verl$"):
        peers.demand("nemo")


@pytest.mark.parametrize("name", peers.PEERS)
def test_a_peer_that_is_not_installed_is_one_line_with_the_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    with pytest.raises(ConfigError) as caught:
        peers.demand(name)
    message = str(caught.value)
    title = peers.PEERS[name].title
    assert message.startswith(f"{title} is not installed here: make peer-{name} and use .venv-{name}, or: pip install ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "found"),
    [("trl", "1.9"), ("trl", "1.15.2"), ("trl", "1.160.0"), ("trl", "1.17.0"), ("trl", "2.1.16"), ("verl", "0.9.10")],
)
def test_another_version_is_refused_by_name(name: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, **{name: found})
    with pytest.raises(ConfigError, match=r"is what this was read against; found [0-9.]+: make peer-"):
        peers.demand(name)


def test_the_message_of_a_wrong_version_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, trl="1.9", verl="0.8.0")
    with pytest.raises(ConfigError, match=r"^TRL 1\.16\.x is what this was read against; found 1\.9: "):
        peers.demand("trl")
    with pytest.raises(ConfigError, match=r"^verl 0\.9\.1 is what this was read against; found 0\.8\.0: "):
        peers.demand("verl")


@pytest.mark.parametrize(("name", "found"), [("trl", "1.16.0"), ("trl", "1.16.3"), ("trl", "1.16"), ("verl", "0.9.1")])
def test_the_version_read_is_given_back(name: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, **{name: found})
    assert peers.demand(name) == found
