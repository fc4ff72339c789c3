"""Which rank sees which rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainyard.data.order import Order, permuted


@given(rows=st.integers(0, 5000), seed=st.integers(0, 2**32), epoch=st.integers(0, 100))
def test_a_shuffle_loses_no_row_and_repeats_none(rows: int, seed: int, epoch: int) -> None:
    found = permuted(np.arange(rows), rows, seed, epoch)
    assert sorted(found) == list(range(rows))


@given(rows=st.integers(1, 500), world=st.integers(1, 9), shuffle=st.booleans())
def test_ranks_share_an_epoch_equally_and_leave_nothing_out(rows: int, world: int, shuffle: bool) -> None:
    ranks = [Order(rows, 3, shuffle, rank, world) for rank in range(world)]
    seen = [order.take(0, 0, rows) for order in ranks]
    assert {len(rows_of) for rows_of in seen} == {len(ranks[0])}
    assert set(np.concatenate(seen)) == set(range(rows))


@given(rows=st.integers(0, 500), world=st.integers(1, 9))
def test_what_does_not_fill_a_round_is_left_out_where_it_should_be(rows: int, world: int) -> None:
    seen = np.concatenate([Order(rows, 3, True, rank, world, drop_last=True).take(0, 0, rows) for rank in range(world)])
    assert len(seen) == rows - rows % world == len(set(seen))


@given(st.integers(0, 400), st.integers(1, 50))
def test_an_epoch_can_be_entered_anywhere(start: int, count: int) -> None:
    order = Order(400, 7, True, 1, 3)
    assert list(order.take(2, start, count)) == list(order.take(2, 0, 400)[start : start + count])


def test_another_epoch_or_seed_is_another_order() -> None:
    places = np.arange(1000)
    orders = {tuple(permuted(places, 1000, seed, epoch)) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9


def test_a_shuffle_is_even() -> None:
    """Where the first row goes, over 4,000 seeds, in ten bins: chi-squared below the 99.9th percentile of nine degrees."""
    places = [int(permuted(np.zeros(1, np.int64), 1000, seed, 0)[0]) for seed in range(4000)]
    counts = np.histogram(places, bins=10, range=(0, 1000))[0]
    assert ((counts - 400) ** 2 / 400).sum() < 27.9


def test_neighbours_do_not_stay_together() -> None:
    found = permuted(np.arange(100_000), 100_000, 1, 0)
    assert (np.abs(np.diff(found)) <= 1).mean() < 0.001


def test_ten_billion_rows_need_no_list() -> None:
    assert Order(10**10, 1, True, 5, 8).take(0, 10**9, 4).max() < 10**10


@pytest.mark.parametrize(("rows", "rank", "world"), [(-1, 0, 1), (5, 2, 2), (5, -1, 2), (5, 0, 0)])
def test_what_makes_no_sense_is_refused(rows: int, rank: int, world: int) -> None:
    with pytest.raises(ValueError, match="makes no sense"):
        Order(rows, rank=rank, world=world)
