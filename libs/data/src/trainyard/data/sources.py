"""Where datasets come from: files and folders, here or in an object store.

    .parquet .csv .csv.gz .json .jsonl .arrow .feather .orc      by pyarrow.dataset: one file, or a folder of such
    .npy .npz                                                    arrays whose first dimension is the rows
    a folder of folders of pictures                              image (uint8 [height, width, 3]) and label, the folder's name

Places are paths, http(s) addresses of files, or URIs that pyarrow.fs knows (`s3://`, `gs://`, `hdfs://`, `file://`). Rows
are read when they are sent, and again from any of them on, so memory holds a batch.
"""

from __future__ import annotations

import itertools
import math
import tokenize
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from trainyard.data import fetching
from trainyard.data.errors import InvalidData
from trainyard.data.sending import Source

FORMATS = {
    "parquet": "parquet", "csv": "csv", "json": "json", "jsonl": "json", "arrow": "ipc", "feather": "feather", "orc": "orc",
}  # fmt: skip
ARRAYS = (".npy", ".npz")
PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff")
_ROWS = 1024  # of an array in memory, at a time
_PICTURES = 64 * 2**20  # bytes of pictures in memory, at a time


def read(place: str, *, size: tuple[int, int] | None = None) -> Source:
    """`size`: (height, width) that pictures are resized to; without it they have to have one already. Raises InvalidData."""
    if fetching.is_web(place):
        return _fetched(fetching.from_web(place), place, size)
    if "://" not in place:
        return _local(place, size)
    system, path, names = _listed(place)
    if any(name.lower().endswith((*ARRAYS, *PICTURES)) for name in names):
        return _fetched(fetching.from_store(system, path), place, size)
    return _tables(place, lambda: ds.dataset(path, format=_format(place, names), filesystem=system))


def _local(place: str, size: tuple[int, int] | None) -> Source:
    path = Path(place)
    if not path.exists():
        raise InvalidData(f"there is nothing at {place}")
    if path.suffix in ARRAYS:
        return _arrays(path)
    if path.is_dir() and (pictures := _pictures(path)):
        return _images(pictures, size)
    names = [each.name for each in path.rglob("*")] if path.is_dir() else [path.name]
    return _tables(place, lambda: ds.dataset(place, format=_format(place, names)))


def _fetched(fetched: fetching.Fetched, place: str, size: tuple[int, int] | None) -> Source:
    """The same with the name that it was asked by; the files stay as long as the source."""
    with _called(fetched, place):
        source = _local(str(fetched.path), size)

    def rows_from(row: int) -> Iterator[pa.RecordBatch]:
        with _called(fetched, place):
            yield from source.rows_from(row)

    return Source(source.schema, rows_from)


@contextmanager
def _called(fetched: fetching.Fetched, place: str) -> Iterator[None]:
    try:
        yield
    except InvalidData as error:
        raise InvalidData(str(error).replace(str(fetched.path), place)) from error


def _listed(place: str) -> tuple[fs.FileSystem, str, list[str]]:
    """A place of an object store, and the names of the files there. Raises InvalidData."""
    try:
        system, path = fs.FileSystem.from_uri(place)
        info = system.get_file_info(path)
        if info.type == fs.FileType.Directory:
            return (
                system,
                path,
                [each.base_name for each in system.get_file_info(fs.FileSelector(path, recursive=True))],
            )
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidData(f"{place} cannot be read: {_line(error)}") from error
    if info.type == fs.FileType.NotFound:
        raise InvalidData(f"there is nothing at {place}")
    return system, path, [info.base_name]


def _tables(place: str, opened: Callable[[], ds.Dataset]) -> Source:
    try:
        found = opened()
        schema = found.schema
    except (pa.ArrowException, OSError) as error:
        raise InvalidData(f"{place} cannot be read: {_line(error)}") from error
    if not schema.names:
        raise InvalidData(f"{place} has no columns")

    def rows_from(row: int) -> Iterator[pa.RecordBatch]:
        left = row
        try:
            for batch in found.to_batches():
                if left < batch.num_rows:
                    yield batch.slice(left)
                left = max(0, left - batch.num_rows)
        except (pa.ArrowException, OSError) as error:
            raise InvalidData(f"{place} cannot be read: {_line(error)}") from error

    return Source(schema, rows_from)


def _format(place: str, names: list[str]) -> str:
    endings = {name.lower().removesuffix(".gz").rpartition(".")[2] for name in names if not name.startswith((".", "_"))}
    known = sorted({FORMATS[ending] for ending in endings & FORMATS.keys()})
    if len(known) != 1:
        what = f"{' and '.join(known)} together" if known else "nothing in a format that is known"
        raise InvalidData(f"{place} holds {what}: known are {', '.join(FORMATS)}, npy, npz and folders of pictures")
    return known[0]


def _arrays(path: Path) -> Source:
    try:
        if path.suffix == ".npy":
            arrays = {path.stem: np.load(path, allow_pickle=False, mmap_mode="r")}
        else:
            with path.open("rb") as file, np.lib.npyio.NpzFile(file) as loaded:  # np.load leaves broken ones open
                arrays = {name: np.asarray(loaded[name]) for name in loaded.files}
    except (ValueError, OSError, EOFError, BadZipFile, NotImplementedError, zlib.error, tokenize.TokenError) as error:
        raise InvalidData(f"{path} cannot be read: {_line(error)}") from error
    lengths = {name: values.shape[0] if values.ndim else None for name, values in arrays.items()}
    if not arrays or None in lengths.values() or len(set(lengths.values())) != 1:
        said = ", ".join(f"{name} {list(values.shape)}" for name, values in arrays.items()) or "nothing"
        raise InvalidData(f"{path} has {said}: every array needs the same first dimension, which is the rows")
    rows = next(iter(lengths.values())) or 0

    def rows_from(row: int) -> Iterator[pa.RecordBatch]:
        for at in range(row, rows, _ROWS):
            end = min(at + _ROWS, rows)
            yield pa.record_batch(
                {name: column(np.ascontiguousarray(values[at:end])) for name, values in arrays.items()}
            )

    return Source(pa.schema([(name, _type(path, name, values)) for name, values in arrays.items()]), rows_from)


def _type(path: Path, name: str, values: np.ndarray[Any, Any]) -> pa.DataType:
    try:
        return column(np.zeros((1, *values.shape[1:]), values.dtype)).type
    except InvalidData as error:
        raise InvalidData(f"{name} of {path} cannot be read: {error}") from error


def column(values: np.ndarray[Any, Any]) -> pa.Array:
    """[rows, …] as a column: tensors where there is more than one dimension. Raises InvalidData for what none can hold."""
    shape = values.shape[1:]
    if 0 in shape:
        raise InvalidData(f"a row of shape {list(shape)} holds nothing, which no column can say")
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    try:
        # pyarrow's own way to tensors wants strides that an array of one row need not have
        flat = pa.array(values if values.ndim == 1 else np.ascontiguousarray(values).reshape(-1))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidData(
            f"no column holds {values.dtype}: numbers, truth values, text and times can be put"
        ) from error
    if values.ndim == 1:
        return flat
    storage = pa.FixedSizeListArray.from_arrays(flat, math.prod(shape))
    return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(flat.type, shape), storage)


def _pictures(folder: Path) -> list[Path]:
    """By class and name."""
    return sorted(file for file in folder.glob("*/*") if file.suffix.lower() in PICTURES)


def _images(files: list[Path], size: tuple[int, int] | None) -> Source:
    first = _pixels(files[0], size)
    labels = sorted({file.parent.name for file in files})
    schema = pa.schema(
        [pa.field("image", pa.fixed_shape_tensor(pa.uint8(), first.shape)), pa.field("label", pa.string())],
        {"labels": ",".join(labels)},
    )

    def rows_from(row: int) -> Iterator[pa.RecordBatch]:
        left = iter(files[row:])
        while some := list(itertools.islice(left, max(1, min(64, _PICTURES // first.nbytes)))):
            pixels = [_pixels(file, size) for file in some]
            other = next((file for file, each in zip(some, pixels, strict=True) if each.shape != first.shape), None)
            if other is not None:
                words = f"{other} is of another size than {files[0]}"
                raise InvalidData(f"{words}: say one that all are resized to (--size 224x224)")
            yield pa.record_batch(
                [column(np.stack(pixels)), pa.array([file.parent.name for file in some])], schema=schema
            )

    return Source(schema, rows_from)


def _pixels(file: Path, size: tuple[int, int] | None) -> np.ndarray[Any, Any]:
    """uint8 [height, width, 3], upright."""
    try:
        from PIL import Image, ImageOps  # noqa: PLC0415 - for pictures alone
    except ImportError:
        raise InvalidData("pictures need Pillow: pip install trainyard-data[pictures]") from None
    try:
        with Image.open(file) as opened:
            picture = ImageOps.exif_transpose(opened).convert("RGB")
            return np.asarray(picture.resize(size[::-1]) if size else picture)
    except (OSError, ValueError, OverflowError, MemoryError, Image.DecompressionBombError) as error:
        raise InvalidData(f"{file} is no picture that can be read: {_line(error)}") from error


def _line(error: Exception) -> str:
    """The cause: pyarrow tells first where it was, with the path that was given."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.rpartition("': ")[2][:300]
