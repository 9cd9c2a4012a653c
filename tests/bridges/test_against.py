from __future__ import annotations

import json
import math
import sys
import types

import pytest
import torch

from strop.bridges import against, peers
from strop.bridges.against import Row, compare, measured
from strop.errors import ConfigError


def row(gradient: list[float], exact: list[float]) -> Row:
    given, right = torch.tensor(gradient), torch.tensor(exact, dtype=torch.float64)
    return measured(given, right, name="a", layout="undivided", agrees_with="dapo")


def test_the_same_gradient_has_no_error() -> None:
    same = row([1.0, -2.0, 0.5], [1.0, -2.0, 0.5])
    assert (same.gradient_error, same.norm_ratio) == (0.0, 1.0)
    assert same.cosine == pytest.approx(1.0, abs=1e-15)
    assert same.same


def test_half_a_gradient_is_the_right_direction_at_half_the_rate() -> None:
    half = row([0.5, -1.0, 0.25], [1.0, -2.0, 0.5])
    assert (half.gradient_error, half.norm_ratio) == (0.5, 0.5)
    assert half.cosine == pytest.approx(1.0, abs=1e-15)
    assert not half.same


def test_another_direction_shows_in_the_cosine() -> None:
    turned = row([0.0, 3.0], [4.0, 0.0])
    assert (turned.gradient_error, turned.cosine, turned.norm_ratio) == (1.25, 0.0, 0.75)


def test_nothing_against_nothing_is_no_error_and_something_against_nothing_is_infinite() -> None:
    assert row([0.0, 0.0], [0.0, 0.0]).gradient_error == 0.0
    assert row([1.0, 0.0], [0.0, 0.0]).gradient_error == math.inf
    nothing = row([0.0, 0.0], [3.0, 4.0])
    assert (nothing.gradient_error, nothing.norm_ratio) == (1.0, 0.0)
    assert math.isnan(nothing.cosine)


def test_a_peer_has_its_module_and_the_report_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    given, nothing = row([0.5], [1.0]), row([0.0], [1.0])
    monkeypatch.setitem(sys.modules, "told", types.SimpleNamespace(rows=lambda: [given, nothing]))
    monkeypatch.setitem(against.SOURCES, "trl", "told")
    monkeypatch.setattr(peers, "version", lambda _: "1.16.0")
    report = compare("trl")
    assert (report.peer, report.version, report.rows) == ("trl", "1.16.0", (given, nothing))
    told = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert set(told) == {"peer", "version", "rows"}
    assert told["rows"][0] == {
        **{"name": "a", "layout": "undivided", "agrees_with": "dapo", "note": "", "same": False},
        **{"gradient_error": 0.5, "cosine": 1.0, "norm_ratio": 0.5},
    }
    assert told["rows"][1]["cosine"] is None


def test_every_peer_can_be_compared() -> None:
    assert set(against.SOURCES) == set(peers.PEERS)


def test_an_unknown_or_missing_peer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="^unknown peer 'trll'; did you mean trl"):
        compare("trll")

    def absent(package: str) -> str:
        raise peers.PackageNotFoundError(package)

    monkeypatch.setattr(peers, "version", absent)
    with pytest.raises(ConfigError, match="^TRL is not installed here: make peer-trl"):
        compare("trl")
