"""Answers kept for requests that come again, where a model's configuration asks for it (`response_cache { enable: true }`).

Bounded by the bytes of the answers; the one that was not asked for the longest goes first. A model that is loaded anew begins
with an empty one.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from trainyard.converter.core.cases import Array, Case
from trainyard.converter.serving.datatypes import to_raw

CAPACITY = 64 * 2**20
"""Bytes of answers, of each version of a model."""
_ENTRY = 256
"""What an answer costs beside its tensors, about: many small ones are no way around the bound."""


class ResponseCache:
    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._answers: OrderedDict[bytes, tuple[int, dict[str, Array]]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: bytes) -> dict[str, Array] | None:
        with self._lock:
            found = self._answers.get(key)
            if found is None:
                return None
            self._answers.move_to_end(key)
            return dict(found[1])

    def put(self, key: bytes, outputs: dict[str, Array]) -> None:
        size = _ENTRY + sum(
            len(to_raw(array)) if array.dtype.kind == "O" else array.nbytes for array in outputs.values()
        )
        if size > self._capacity:
            return
        for array in outputs.values():
            array.flags.writeable = False
        with self._lock:
            before = self._answers.pop(key, None)
            self._answers[key] = size, dict(outputs)
            self._bytes += size - (before[0] if before else 0)
            while self._bytes > self._capacity:
                self._bytes -= self._answers.popitem(last=False)[1][0]


def key_of(inputs: Case) -> bytes:
    """Equal for equal requests, whatever the order of their inputs."""
    digest = hashlib.blake2b(digest_size=32)
    for name in sorted(inputs):
        array = inputs[name]
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(to_raw(array))
    return digest.digest()
