"""Datasets of the data server: read in this process's share, `dataset("digits").torch(batch=64, shuffle=True)`, and written,
`put_dataset("digits", pixels=…, label=…)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainyard.worker.place import here

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from trainyard.data.dataset import Dataset


def dataset(name: str, *, version: str | None = None, columns: Sequence[str] = (), shared: bool = True) -> Dataset:
    """`shared`: the ranks of the job share the rows among them; else each has all. Needs pyarrow in the job's image, and
    `TRAINYARD_DATA` (a yard sets it). Raises ImportError without pyarrow, trainyard.data.errors.DataError otherwise."""
    try:
        from trainyard.data.dataset import Dataset
    except ImportError as error:
        raise ImportError(f"datasets need pyarrow and numpy in the job's image: {error}") from error
    place = here()
    rank, world = (place.rank, place.world_size) if shared else (0, 1)
    return Dataset(name, version=version, columns=tuple(columns), rank=rank, world=world)


def put_dataset(name: str, **columns: Any) -> str:
    """Arrays with the same first dimension, which is the rows, become the current version of `name`; that version. For one
    process of a job: every one that calls it makes a version. Raises as `dataset`."""
    try:
        from trainyard.data.dataset import put
    except ImportError as error:
        raise ImportError(f"datasets need pyarrow, numpy and xxhash in the job's image: {error}") from error
    return put(name, columns)
