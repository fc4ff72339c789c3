"""Where the log of a rank lies and how a line looks. Standard library only: the supervisor of a rank starts with it.

    <root>/<job id>/<attempt>/<rank>/<start offset, 20 digits>.log

A segment is named by the logical offset of its first byte, so an offset stays valid through rotation and tells what has
been dropped. Lines have the format of Kubernetes' container runtimes (CRI), so that pods and processes are read
by the same code: `<RFC 3339 time> <stdout|stderr> <F|P> <text>`, P for a part of a line that goes on.
Source: kubernetes/design-proposals-archive, "CRI: logging".
"""

from __future__ import annotations

from pathlib import Path

SEGMENT_BYTES = 16 * 2**20
KEEP_SEGMENTS = 64
MAX_PART = 16 * 1024  # bytes of text after which a line is cut into parts


def rank_folder(root: Path, job_id: str, attempt: int, rank: int) -> Path:
    return root / job_id / str(attempt) / str(rank)


def segment_name(offset: int) -> str:
    return f"{offset:020d}.log"


def segments(folder: Path) -> list[tuple[int, Path]]:
    """(start offset, file), oldest first."""
    try:
        names = sorted(item for item in folder.iterdir() if item.suffix == ".log" and item.stem.isdecimal())
    except FileNotFoundError:
        return []
    return [(int(item.stem), item) for item in names]
