"""Which compute capabilities are compiled into a wheel: what a row of the matrix's `cubins` table says, measured.

    pip download --no-deps --only-binary=:all: --python-version 3.12 --platform manylinux_2_28_x86_64 NAME==VERSION
    python tools/wheel_kernels.py NAME-VERSION-….whl

Prints, for each library in the wheel, how many native kernels (`8.0`) and how much PTX (`8.0+PTX`) it has for each
capability. No CUDA toolkit is needed: the fat binaries that nvcc embeds begin with a magic number, and each entry names
its architecture in the clear even where its code is compressed.

Layout (little endian), as `cuobjdump --list-elf` and `--list-ptx` show it: header `magic u32, version u16, size u16, length
u64`; entries `kind u16 (1 PTX, 2 cubin), u16, header size u32, code size u64, …, architecture u32 at byte 28, …`.
"""

from __future__ import annotations

import mmap
import struct
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

MAGIC = struct.pack("<I", 0xBA55ED50)
_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ12xI")
_KINDS = {1: "+PTX", 2: ""}


def kernels(data: bytes | mmap.mmap) -> Counter[str]:
    """`{"8.0": 378, "9.0+PTX": 1}`. A number that only looks like a header is passed over."""
    found: Counter[str] = Counter()
    at = data.find(MAGIC, 0)
    while at >= 0:
        after = at + len(MAGIC)
        if at + _HEADER.size <= len(data):
            _, version, size, length = _HEADER.unpack_from(data, at)
            end = at + size + length
            if version == 1 and size == _HEADER.size and end <= len(data):
                after = max(after, _entries(data, at + size, end, found))
        at = data.find(MAGIC, after)
    return found


def _entries(data: bytes | mmap.mmap, at: int, end: int, found: Counter[str]) -> int:
    while at + 64 <= end:
        kind, _, size, length, architecture = _ENTRY.unpack_from(data, at)
        if kind not in _KINDS or size < 64:
            break
        found[f"{architecture // 10}.{architecture % 10}{_KINDS[kind]}"] += 1
        at += size + length
    return at


def of_wheel(wheel: Path) -> dict[str, Counter[str]]:
    """By library; those without kernels are left out. One library at a time is unpacked."""
    made = {}
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        for name in archive.namelist():
            if ".so" not in Path(name).name:
                continue
            library = Path(archive.extract(name, folder))
            if library.stat().st_size:
                with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    made[name] = kernels(data)
            library.unlink()
    return {name: found for name, found in made.items() if found}


def main() -> int:
    for wheel in map(Path, sys.argv[1:]):
        sys.stdout.write(f"{wheel.name}\n")
        for library, found in of_wheel(wheel).items():
            counts = sorted(found.items(), key=lambda item: tuple(map(int, item[0].removesuffix("+PTX").split("."))))
            told = ", ".join(f"{capability} ({count})" for capability, count in counts)
            sys.stdout.write(f"  {library}: {told}\n")
    return 0 if len(sys.argv) > 1 else 2


if __name__ == "__main__":
    sys.exit(main())
