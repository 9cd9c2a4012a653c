from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from strop.batch.build import Batch, build
from strop.check.layouts import (
    ALL,
    Layout,
    chunks,
    few_over_ranks,
    hollow,
    interleaved,
    narrow,
    one_process,
    over_ranks,
    without_work,
)
from strop.check.trials import made_row, row_of
from tests.check.beds import hard_case, trials

LONGEST = hard_case().longest


def batch() -> Batch:
    [built] = build(hard_case().groups, row_of(made_row("dapo")), mask_truncated=True)
    return built


def live(of: Batch) -> list[int]:
    return [s for s, alive in enumerate(of.live_S.tolist()) if alive]


@pytest.mark.parametrize("layout", [one for one in one_process(LONGEST) if one.cut != "budget"], ids=lambda o: o.name)
def test_a_layout_holds_every_sequence_that_trains_exactly_once(layout: Layout) -> None:
    whole = batch()
    parts = chunks(whole, layout, rank=0)
    found = sorted(s for part in parts for s in part)
    assert found == (list(range(len(whole.ids_S))) if layout.masked == "kept" else live(whole))
    assert all(1 <= len(part) <= layout.size for part in parts)


def test_the_cuts_are_what_they_are_called() -> None:
    whole = batch()
    lengths = [ids.numel() for ids in whole.ids_S]
    assert chunks(whole, Layout("", size=3), 0)[0] == live(whole)[:3]
    by_length = [lengths[s] for part in chunks(whole, Layout("", "sorted", 2), 0) for s in part]
    assert by_length == sorted(by_length)
    long, short = chunks(whole, Layout("", "mixed", 2), 0)[0]
    assert (lengths[long], lengths[short]) == (max(by_length), min(by_length))
    assert chunks(whole, Layout("", "uneven"), 0) == [[s] for s in live(whole)]
    assert chunks(whole, Layout("", "uneven"), 1) == [live(whole)]
    assert chunks(whole, Layout("", rows=1), 0) != chunks(whole, Layout("", rows=2), 0)


def test_hollow_micro_batches_stand_around_every_part() -> None:
    assert list(interleaved(["a", "b", "c"], ["x", "y"])) == ["x", "a", "y", "b", "x", "c", "y"]  # type: ignore[list-item]
    empty = hollow(batch())
    assert len(empty) == 7
    assert all(micro.index_n.numel() == 0 for micro in empty)


def test_shuffled_groups_stay_in_their_update() -> None:
    groups = list(hard_case().groups)
    ordered = Layout("", groups=1).ordered(groups, first=4)
    assert ordered[:4] != groups[:4]
    assert {group.draw for group in ordered[:4]} == {group.draw for group in groups[:4]}
    assert ordered[4:] == groups[4:]
    assert Layout("").ordered(groups, first=4) == groups


def test_at_least_forty_layouts_of_one_process_are_different_micro_batches() -> None:
    bench = trials([dict(made_row("dapo"))], []).bench
    kept = bench.distinct(row_of(made_row("dapo")), one_process(LONGEST))
    assert len(kept) >= 40
    assert len({one.name for one in kept}) == len(kept)


def test_layouts_that_cut_a_batch_alike_are_run_once() -> None:
    bench = trials([dict(made_row("dapo"))], []).bench
    layouts = [Layout("all"), Layout("a thousand", size=1000), Layout("twice", size=2), Layout("again", size=2)]
    layouts += [Layout("recomputed", checkpointing=True)]
    kept = bench.distinct(row_of(made_row("dapo")), layouts)
    assert [one.name for one in kept] == ["all", "twice", "recomputed"]


def test_over_ranks_there_is_every_way_with_one_two_and_four() -> None:
    found = over_ranks(LONGEST)
    assert {(one.ranks, one.sharded) for one in found} == {(1, False), (2, False), (2, True), (4, False), (4, True)}
    assert len({(one.label, one.ranks) for one in found}) == len(found) >= 37
    assert {"uneven", "budget", "mixed", "rows"} == {one.cut for one in found}
    assert any(one.turned for one in found)
    assert {(one.ranks, one.sharded) for one in few_over_ranks(LONGEST)} == {
        (n, s) for n in (2, 4) for s in (False, True)
    }
    assert {one.ranks for one in without_work(LONGEST)} == {4}


def test_a_layout_says_what_runs_it() -> None:
    assert Layout("one").label == "one"
    assert Layout("one", ranks=2).label == "one, data parallel"
    assert Layout("one", ranks=2, sharded=True).label == "one, FSDP2"


def test_the_narrow_ones_are_some_of_all_and_of_every_kind() -> None:
    some = narrow(LONGEST)
    assert len(some) == 9
    assert set(some) < set(one_process(LONGEST))
    assert {one.cut for one in some} == {"rows", "budget", "mixed"}
    assert {one.masked for one in some} == {"out", "between"}
    assert any(one.checkpointing for one in some)


def test_a_layout_is_plain_values() -> None:
    layout = replace(Layout("one", "mixed", ALL, masked="kept"), ranks=4, sharded=True)
    assert Layout(**asdict(layout)) == layout
