"""Element types by the names that numpy, ml_dtypes and the frameworks share. Pure."""

from __future__ import annotations

from functools import lru_cache

from trainyard.tensors.errors import TensorError

SIZES = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
"""Bytes of an element."""
FLOAT8 = frozenset({"float8_e4m3fn", "float8_e5m2"})
PLAIN = frozenset(SIZES) - FLOAT8 - {"bfloat16"}
BITS = {1: "uint8", 2: "int16"}
"""Element size → what carries the same bits where DLPack or a framework has no name for them; int16, since not all have
uint16."""
X64 = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
"""What JAX makes of them unless jax_enable_x64 is on."""
_ALIASES = {
    "half": "float16",
    "float": "float64",
    "double": "float64",
    "long": "int64",
    "int": "int64",
    "bool_": "bool",
}


@lru_cache(256)
def name_of(dtype: object) -> str:
    """The name of a dtype that any framework, numpy or a person gives. Raises TensorError."""
    said = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype)
    word = said.rpartition(".")[2].strip("'").lower()
    name = _ALIASES.get(word, word)
    if name not in SIZES:
        raise TensorError(f"{said} is no element type that can cross: {', '.join(SIZES)}")
    return name
