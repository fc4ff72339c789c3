"""Whether a tensor can be shared with another framework or has to be copied, and why. Pure: facts in, a plan out.

The rules are measured, framework by framework (docs/reference/tensors.md). What they promise is looked at afterwards too: a
conversion compares the pointers of what went in and what came out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from trainyard.tensors.dtypes import X64
from trainyard.tensors.errors import CannotShare, TensorError
from trainyard.tensors.facts import ALIGNMENT, Facts


@dataclass(frozen=True, slots=True)
class Traits:
    """What a framework takes and gives."""

    name: str
    carried: frozenset[str]
    """Element types that it takes and gives by DLPack, or the protocol of its own."""
    viewed: frozenset[str] = frozenset()
    """Those that it has and moves as integers of the same bits."""
    strided: bool = True
    """It takes gaps and other orders than row-major."""
    permuted: bool = False
    """Of these it takes orders of dimensions, without gaps."""
    backwards: bool = False
    """It takes negative strides."""
    aligned: bool = False
    """It takes only memory at a multiple of 64 bytes."""
    writable: bool = True
    """What it takes, its users may write to."""
    heeds_read_only: bool = False
    """It refuses such writes where the memory does not bear them."""
    packs_bool: bool = False
    narrow: bool = False
    """It silently halves 64-bit types just now (JAX without x64)."""
    devices: frozenset[str] = frozenset({"cpu"})
    protocol: str = "DLPack"

    def has(self, dtype: str) -> bool:
        return dtype in self.carried or dtype in self.viewed


class Plan(NamedTuple):
    copies: tuple[str, ...] = ()
    """Why it has to be copied; none: it is shared."""
    notes: tuple[str, ...] = ()
    """What its user should know."""


def plan(source: Facts, takes: Traits, copy: bool | None, dtype: str, device: str | None) -> Plan:
    """`dtype`: of the result. Raises TensorError where it cannot cross, CannotShare where copy=False is not to be had."""
    _possible(takes, dtype, device)
    reasons = [*_source_reasons(source, dtype, device), *_target_reasons(source, takes, dtype, copy)]
    if copy is False and reasons:
        raise CannotShare(f"{_words(source)} cannot become {takes.name}'s without a copy: {'; '.join(reasons)}")
    if copy:
        reasons.insert(0, "copy=True asks for one")
    return Plan(tuple(reasons), () if reasons else _notes(source, takes))


def _possible(takes: Traits, dtype: str, device: str | None) -> None:
    if not takes.has(dtype):
        near = "dtype='float32'" if "float" in dtype else "another dtype"
        raise TensorError(
            f"{dtype} is nothing that {takes.name} takes here: ask for {near}, or view it as integers first"
        )
    if takes.narrow and dtype in X64:
        words = f"JAX would silently make {X64[dtype]} of {dtype}"
        raise TensorError(f"{words}: set jax.config.update('jax_enable_x64', True), or say dtype={X64[dtype]!r}")
    if device is not None and device.partition(":")[0] not in takes.devices:
        raise TensorError(f"{takes.name} has no device {device!r}: {', '.join(sorted(takes.devices))}")


def _source_reasons(source: Facts, dtype: str, device: str | None) -> list[str]:
    reasons = []
    if dtype != source.dtype:
        reasons.append(f"{source.dtype} has to become {dtype}")
    if device is not None and device != source.device:
        reasons.append(f"it lies on {source.device}, {device} is asked for")
    if source.pending:
        reasons.append(source.pending)
    if source.packed:
        reasons.append("Arrow packs eight truth values into a byte")
    return reasons


def _target_reasons(source: Facts, takes: Traits, dtype: str, copy: bool | None) -> list[str]:
    reasons = []
    kind = source.device.partition(":")[0]
    if kind not in takes.devices:
        reasons.append(f"it lies on {source.device}, {takes.name} is on {' or '.join(sorted(takes.devices))}")
    if takes.packs_bool and dtype == "bool" and not source.packed:
        reasons.append("Arrow packs eight truth values into a byte")
    if source.backwards and not takes.backwards:
        reasons.append(f"{takes.name} has no negative strides")
    elif not (takes.strided or source.compact or (takes.permuted and source.dense)):
        reasons.append(f"{takes.name} takes rows without gaps, and its strides are {list(source.strides or ())}")
    if takes.aligned and not source.aligned and source.bytes:
        past = source.pointer % ALIGNMENT
        reasons.append(f"{takes.name} needs memory at a multiple of {ALIGNMENT} bytes, this is {past} past one")
    if source.read_only and takes.writable and not takes.heeds_read_only and copy is None:
        reasons.append(
            f"its memory is read-only and {takes.name} could write to it (copy=False shares it all the same)"
        )
    return reasons


def _notes(source: Facts, takes: Traits) -> tuple[str, ...]:
    if takes.heeds_read_only and (source.read_only or source.immutable):
        return ()
    if takes.writable and source.read_only:
        return ("its memory is read-only: to write to it ends the process",)
    if takes.writable and source.immutable:
        return (f"what is written to it changes the tensor of {source.framework}, which never expects that",)
    if not takes.writable and not source.immutable and not source.read_only:
        return (f"what is written to the tensor of {source.framework} changes it, which {takes.name} never expects",)
    return ()


def _words(source: Facts) -> str:
    return f"{source.framework}'s {source.dtype} {list(source.shape)}"
