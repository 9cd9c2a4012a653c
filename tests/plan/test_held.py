"""Bytes are counted once, from the operation that makes them until the last tensor on them is gone."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from strop.plan.held import Held

KIB = 1024


def test_what_is_alive_is_counted_and_what_is_gone_is_not() -> None:
    with Held() as held:
        a = torch.zeros(256)
        b = a + 1
        assert held.now == 2 * KIB
        del a
        assert (held.now, held.peak) == (KIB, 2 * KIB)
        assert held.restart() == KIB
        c = torch.cat([b, b])
        del c
        assert (held.now, held.peak) == (KIB, 3 * KIB)


def test_views_and_steps_in_place_take_nothing() -> None:
    with Held() as held:
        a = torch.zeros(16, 16)
        a.t().reshape(4, 64)[1:].add_(1).mul_(2)
        assert held.now == KIB


def test_what_autograd_saves_counts_until_the_backward_pass_and_gradients_stay() -> None:
    with Held() as held:
        weight = torch.zeros(256, requires_grad=True)
        value = weight.exp().exp().sum()
        assert held.now == 3 * KIB + 4
        value.backward()
        del value
        assert held.now == 2 * KIB


def test_tensors_that_were_there_before_are_counted_on_request_and_once() -> None:
    there = torch.zeros(256)
    with Held() as held:
        held.count([there, there[:10], 3, None])
        assert held.now == KIB
        there.add_(1)
        assert held.now == KIB


def test_tensors_without_numbers_count_as_those_with_them() -> None:
    with FakeTensorMode(), Held() as held:
        value = torch.zeros(2**30) @ torch.zeros(2**30, 4)
        assert held.peak == 4 * 2**30 * 5 + 16
        assert value.shape == (4,)
