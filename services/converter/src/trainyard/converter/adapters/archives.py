"""How large a zip's directory is, before it is read: Python makes an object of each entry, so that a file of megabytes takes
gigabytes of memory and minutes. What reads it for its format does so in the sandbox; what is read here has to be small."""

from __future__ import annotations

import os
import struct
from pathlib import Path

LARGEST_DIRECTORY = 16 * 2**20
"""Bytes; an entry has fifty at least."""
_END, _LOCATOR = b"PK\x05\x06", b"PK\x06\x07"
_TAIL = 22 + 65535 + 20 + 56
"""The end of a zip, the longest comment, and the end and its locator of a zip64. Source: APPNOTE.TXT 4.3.14 to 4.3.16."""


def readable(file: Path) -> bool:
    """Whether the directory of a zip is small enough to be read here. Every place that could be its end counts: which of them
    is meant is up to the reader."""
    with file.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL))
        tail = stream.read()
    at = tail.find(_END)
    while at >= 0:
        sizes = [struct.unpack_from("<I", tail, at + 12)[0]] if at + 16 <= len(tail) else []
        if at >= 76 and tail[at - 20 : at - 16] == _LOCATOR:
            sizes = [struct.unpack_from("<Q", tail, at - 76 + 40)[0]]
        if sizes and sizes[0] > LARGEST_DIRECTORY:
            return False
        at = tail.find(_END, at + 1)
    return True
