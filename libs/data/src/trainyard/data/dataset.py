"""A dataset in a job: `dataset("digits").torch(batch=64, shuffle=True)`.

Where the server is, and with which token, the environment says: `TRAINYARD_DATA` (grpc://host:port) and `TRAINYARD_TOKEN`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from trainyard.data import frameworks
from trainyard.data.batches import Batches
from trainyard.data.client import Client
from trainyard.data.errors import InvalidData, Unavailable
from trainyard.data.order import Order
from trainyard.data.rows import Rows
from trainyard.data.sources import column

PLACE, TOKEN, AUTHORITY = "TRAINYARD_DATA", "TRAINYARD_TOKEN", "TRAINYARD_DATA_CA"


PATIENCE = 60.0
"""Seconds that a job waits for a server that is away."""


def connected() -> Client:
    """A client of the server that the environment names. Raises Unavailable where it names none."""
    place = os.environ.get(PLACE)
    if not place:
        raise Unavailable(
            f"no data server is named: {PLACE} is not set (a job of a yard has it; `yard data serve` says it)"
        )
    authority = os.environ.get(AUTHORITY)
    roots = open(authority, "rb").read() if authority else None  # noqa: PTH123, SIM115
    return Client(place, os.environ.get(TOKEN), roots=roots, patience=PATIENCE)


def put(name: str, columns: Mapping[str, Any], client: Client | None = None) -> str:
    """What numpy takes as arrays [rows, …] becomes the current version of `name`; that version. Raises InvalidData."""
    arrays = {key: np.asarray(values) for key, values in columns.items()}
    if len({values.shape[:1] for values in arrays.values()} - {()}) != 1 or any(
        not each.ndim for each in arrays.values()
    ):
        said = ", ".join(f"{key} {list(values.shape)}" for key, values in arrays.items()) or "nothing"
        raise InvalidData(f"the columns of {name} need the same first dimension, which is the rows: {said}")
    table = pa.table({key: column(values) for key, values in arrays.items()})
    if client is not None:
        return str(client.put(name, table)["version"])
    with connected() as opened:
        return str(opened.put(name, table)["version"])


class Dataset:
    """One version of a dataset; `version` keeps it, whatever is put under the name meanwhile."""

    def __init__(
        self,
        name: str,
        *,
        version: str | None = None,
        columns: tuple[str, ...] = (),
        rank: int = 0,
        world: int = 1,
        client: Client | None = None,
    ) -> None:
        """`rank` of `world`: which share of the rows is ours."""
        self._client = client or connected()
        found = self._client.find(name, version, tuple(columns))
        self.name, self.version, self.schema = name, found.version, found.schema
        self._rows = Rows(self._client, found)
        self._rank, self._world = rank, world

    def __len__(self) -> int:
        return len(self._rows)

    def numpy(
        self,
        batch: int = 1,
        *,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        prefetch: int = 2,
        state: dict[str, int] | None = None,
    ) -> Batches:
        """Dicts of arrays [batch, …]. `drop_last`: every batch is whole, and ranks have equally many rows without any twice.
        `state`: of an earlier `Batches.state()`, to go on from."""
        order = Order(len(self), seed, shuffle, self._rank, self._world, drop_last)
        return Batches(self._rows, batch, order, whole=drop_last, prefetch=prefetch, state=state)

    def torch(self, batch: int = 1, **options: Any) -> Any:
        """A torch DataLoader; options as of `numpy`."""
        return frameworks.torch(self.numpy(batch, **options))

    def tensorflow(self, batch: int = 1, **options: Any) -> Any:
        """A tf.data.Dataset; options as of `numpy`."""
        return frameworks.tensorflow(self.numpy(batch, **options))

    def jax(self, batch: int = 1, **options: Any) -> Any:
        """jax.Arrays; options as of `numpy`."""
        return frameworks.Jax(self.numpy(batch, **options))

    def paddle(self, batch: int = 1, **options: Any) -> Any:
        """A paddle DataLoader; options as of `numpy`."""
        return frameworks.paddle(self.numpy(batch, **options))

    def close(self) -> None:
        """Gives back what was fetched to the disk."""
        self._rows.close()
