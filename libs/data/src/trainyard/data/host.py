"""The fast path of one host: the server names the file that a part lies in, the client maps it if it is the same file.

No guess is made from addresses. A server offers path, device, inode and size, and a client that finds exactly that at the
path reads the very pages that the server would have sent; any other client, in a container or on another machine, finds
nothing there and takes the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Offer:
    path: str
    device: int
    inode: int
    size: int
    boot: str
    """Of the kernel: inodes of two machines may be equal."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def offer(file: Path) -> Offer:
    status = file.stat()
    return Offer(str(file.resolve()), status.st_dev, status.st_ino, status.st_size, _boot())


def take(offered: Offer) -> pa.Table | None:
    """The part, mapped; None where it is not the same file. The pages stay as long as the table does, even if the server
    removes the dataset."""
    if offered.boot != _boot():
        return None
    try:
        status = Path(offered.path).stat()
        if (status.st_dev, status.st_ino, status.st_size) != (offered.device, offered.inode, offered.size):
            return None
        return opened(offered.path)
    except (OSError, pa.ArrowInvalid):
        return None


def opened(file: str, columns: Sequence[str] = ()) -> pa.Table:
    """A part, mapped; `columns` alone, in this order. Raises pyarrow.ArrowInvalid where it is damaged in a way that would be
    read beyond its end, and OSError."""
    source = pa.memory_map(file)
    reader = pa.ipc.open_file(source)
    if columns:
        places = [reader.schema.get_field_index(name) for name in columns]
        reader = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=places))
    table = reader.read_all()
    table.validate()  # lengths against buffers; what they hold was looked at when it came
    return table.select(list(columns)) if columns else table


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
