"""Pickles that are trusted and mean harm all the same: their code runs, and stays within the limits of the sandbox."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(300)]

LIMITS = Limits(seconds=8, memory=2**30, file_bytes=2**20)
LATER = 6
"""Seconds after which what was left behind would do its harm."""


def running(code: str) -> bytes:
    """A pickle that runs Python."""
    line = code.replace("\n", "\\u000a")
    return f"cbuiltins\nexec\n(V{line}\ntR.".encode()


ENDED = "the model was ended: it "
BAD: dict[str, tuple[str, str]] = {
    "never ends": ("while True: pass", ENDED + "took longer than 8.0 s"),
    "sleeps": ("import time; time.sleep(1000)", ENDED + "took longer than 8.0 s"),
    "takes all of the memory": ("x = []\nwhile True: x.append(bytearray(2**24))", "needs more memory"),
    "takes it in children": (
        "import os, time\nfor _ in range(4): os.fork()\nx = bytearray(2**28)\ntime.sleep(1000)",
        ENDED,
    ),
    "ends its process": ("import os; os._exit(3)", "the export ended with code 3"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "the model crashes what reads it (Segmentation fault)"),
    "writes a huge file": ("open('huge', 'wb').write(bytes(2**22))", "File too large"),
    "floods its output": ("for _ in range(10**6): print('x' * 100)", "which predicts nothing"),
    "closes everything": ("import os; os.closerange(0, 100); os._exit(1)", "the export ended with code 1"),
    "answers itself": (
        "import os, glob; open('answer.json', 'w').write('{\"framework\": 7}'); os._exit(0)",
        "the model was ended: its answer is none (framework: Input should be a valid string)",
    ),
    "answers by a link": (
        "import os; os.symlink('/etc/passwd', 'answer.json'); os._exit(0)",
        "the model was ended: it left a link in place of answer.json",
    ),
    "answers by a pipe": (
        "import os; os.mkfifo('answer.json'); os._exit(0)",
        "what it left as answer.json is no file of its own",
    ),
    "asks the network": (
        "import socket; socket.create_connection(('1.1.1.1', 53), 2)",
        "net.pkl cannot be read as sklearn: ",
    ),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_pickle_that_is_trusted_stays_in_the_sandbox(given: Path, refusal: Any, kind: str) -> None:
    code, words = BAD[kind]
    (given / "net.pkl").write_bytes(running(code))
    assert words in await refusal("net.pkl", trust=True, limits=LIMITS)


async def test_a_bad_child_that_is_left_behind_is_ended(given: Path, refusal: Any) -> None:
    later = f"if os.fork() == 0:\n os.setsid()\n time.sleep({LATER})\n open({str(given / 'HARM')!r}, 'w')\n os._exit(0)"
    (given / "net.pkl").write_bytes(running(f"import os, time\n{later}\ntime.sleep(1)"))
    assert "which predicts nothing" in await refusal("net.pkl", trust=True, limits=LIMITS)
    await asyncio.sleep(LATER)
    assert not (given / "HARM").exists()
