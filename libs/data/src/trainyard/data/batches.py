"""Batches of a dataset, epoch after epoch, in an order that can be entered anywhere.

    batches = Batches(rows, 64, Order(len(rows), seed=1, shuffle=True, rank=0, world=4))
    for batch in batches:                  # one epoch: column → array
        …
    state = batches.state()                # {"epoch": 1, "row": 0}; Batches(…, state=state) goes on from there

The next ones are gathered by a thread while the current one is computed with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

import numpy as np

from trainyard.data.order import Order
from trainyard.data.rows import Array, Rows

Batch = dict[str, Array]


class Batches:
    def __init__(
        self,
        rows: Rows,
        batch: int,
        order: Order,
        *,
        whole: bool = False,
        prefetch: int = 2,
        state: dict[str, int] | None = None,
    ) -> None:
        """`whole`: leave out a last batch that is smaller. `prefetch`: batches that are gathered ahead."""
        if batch < 1:
            raise ValueError(f"a batch of {batch} rows makes no sense: 1 is the least")
        self._rows = rows
        self._batch = batch
        self._order = order
        self._whole = whole
        self._prefetch = prefetch
        said = state or {}
        self._epoch, self._row = said.get("epoch", 0), said.get("row", 0)
        self._within = False

    def __len__(self) -> int:
        """Batches of an epoch."""
        whole, rest = divmod(len(self._order), self._batch)
        return whole + bool(rest and not self._whole)

    def __iter__(self) -> Iterator[Batch]:
        """One epoch, the next one each time, also where the last was left early; from where `state` says, the first time."""
        if self._within:
            self._epoch, self._row = self._epoch + 1, 0
        self._within = True
        end = len(self) * self._batch
        for start, batch in self._gathered(self._epoch, self._row, min(end, len(self._order))):
            self._row = min(start + self._batch, len(self._order))  # before it is used: it is seen by then
            yield batch
        self._epoch, self._row, self._within = self._epoch + 1, 0, False

    def sample(self) -> Batch:
        """The first row of the dataset: what shapes and types there are."""
        return self._rows.take(np.arange(min(1, len(self._rows))))

    def state(self) -> dict[str, int]:
        """Where the next batch begins: JSON for a checkpoint. Rows are this rank's."""
        return {"epoch": self._epoch, "row": self._row}

    def _gathered(self, epoch: int, start: int, end: int) -> Iterator[tuple[int, Batch]]:
        """(position, batch), gathered ahead."""
        starts = iter(range(start, end, self._batch))
        ahead: deque[tuple[int, Future[Batch]]] = deque()
        with ThreadPoolExecutor(1) as pool:  # rows are taken by one thread at a time
            try:
                while True:
                    for at in islice(starts, max(1, self._prefetch) - len(ahead)):
                        rows = self._order.take(epoch, at, min(self._batch, end - at))
                        ahead.append((at, pool.submit(self._rows.take, rows)))
                    if not ahead:
                        return
                    at, batch = ahead.popleft()
                    yield at, batch.result()
            finally:
                pool.shutdown(cancel_futures=True)
