"""`convert_framework_tensor`: a tensor, or a tree of them, to another framework."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from trainyard.tensors import composites, making, placing, registry, trees
from trainyard.tensors.dtypes import name_of
from trainyard.tensors.errors import CannotShare, TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Plan, plan
from trainyard.tensors.port import Bridge

Framework = Literal["numpy", "arrow", "torch", "tensorflow", "jax", "paddle", "mindspore", "mxnet", "cupy"]


class Explanation(NamedTuple):
    """What became of one tensor."""

    source: str
    """Framework."""
    target: str
    zero_copy: bool
    """By the pointers: both have their first element at one address."""
    protocol: str
    """`same object`, `DLPack`, `Arrow buffers`."""
    reasons: tuple[str, ...]
    """Why it was copied."""
    bytes_moved: int
    """0 where it is shared."""
    notes: tuple[str, ...] = ()
    """What a user of shared memory should know."""

    def __str__(self) -> str:
        if self.zero_copy:
            return f"{self.source} → {self.target}: shared ({self.protocol})"
        return f"{self.source} → {self.target}: {self.bytes_moved} bytes copied, since {'; '.join(self.reasons)}"


def convert_framework_tensor(
    x: Any,
    to: Framework,
    device: str | None = None,
    copy: bool | None = None,
    dtype: object = None,
    *,
    explain: bool = False,
) -> Any:
    """`x` for another framework, over the same memory where that is possible.

    `x`: a tensor of any framework in BRIDGES, of any shape; or dicts, lists, tuples and dataclasses of them, which come back
    as they are, with what is no tensor left alone. `device`: `cpu` or `cuda:0`; None: where it lies. `copy`: None copies
    where it has to, True always, False never. `dtype`: of the result, by any framework's name for it.

    Sparse tensors (COO, CSR) and ragged ones cross part by part, to frameworks that have them.

    With `explain`, a pair: the result, and the same tree with an Explanation in each tensor's place; for a sparse or ragged
    one a dict of its parts'.

    Raises TensorError for what cannot cross, and CannotShare (one of them) where copy=False is not to be had; nothing of a
    tree is converted then.
    """
    target = registry.named(to)
    wanted = None if dtype is None else name_of(dtype)
    leaves, rebuild = trees.flatten(x)
    plans = [_Leaf.read(leaf, target, device, copy, wanted) for leaf in leaves]
    if not any(plans):
        raise TensorError(f"{type(x).__module__}.{type(x).__qualname__} is no tensor, and there is none in it")
    results = [made.convert() if made else (leaf, None) for leaf, made in zip(leaves, plans, strict=True)]
    converted = rebuild([found for found, _ in results])
    return (converted, rebuild([told for _, told in results])) if explain else converted


class _Leaf(NamedTuple):
    """One tensor and what is to become of it."""

    source: Bridge
    target: Bridge
    x: Any
    facts: Facts
    plan: Plan
    dtype: str
    copy: bool | None
    device: str | None

    @staticmethod
    def read(x: Any, target: Bridge, device: str | None, copy: bool | None, dtype: str | None) -> _Leaf | _Parts | None:
        """None: it is no tensor."""
        composite = composites.opened(x)
        if composite is not None:
            return _Parts.read(composite, target, device, copy, dtype)
        source = registry.of(x.__class__)
        if source is None:
            return None
        return _Leaf(source, target, x, *_planned(x, source, target, device, copy, dtype), copy, device)

    def convert(self) -> tuple[Any, Explanation]:
        return _converted(self.x, self.source, self.target, self.facts, self.plan, self.dtype, self.copy, self.device)


class _Parts(NamedTuple):
    """A sparse or ragged tensor; its parts cross one by one."""

    composite: composites.Composite
    target: Bridge
    leaves: dict[str, _Leaf]
    copied_from: str | None
    """Framework whose parts had to be put in order first."""

    @staticmethod
    def read(
        composite: composites.Composite, target: Bridge, device: str | None, copy: bool | None, dtype: str | None
    ) -> _Parts:
        framework = target.traits().name
        making.possible(framework, composite.kind)
        composite, copied_from = _in_order(composite, target, copy)
        home = registry.named(making.HOMES.get(framework, framework))
        places = "int32" if target.traits().narrow else None
        leaves = {}
        for name, part in composite.parts.items():
            leaf = _Leaf.read(part, home, device, copy, places if name in composites.PLACES else dtype)
            if not isinstance(leaf, _Leaf):
                raise TensorError(f"the {name} of this {composite.kind} tensor are no plain tensor")
            leaves[name] = leaf
        return _Parts(composite, target, leaves, copied_from)

    def convert(self) -> tuple[Any, dict[str, Explanation]]:
        done = {name: leaf.convert() for name, leaf in self.leaves.items()}
        made = making.made(
            self.target.traits().name, self.composite, {name: found for name, (found, _) in done.items()}
        )
        return made, {name: self._told(name, told) for name, (_, told) in done.items()}

    def _told(self, name: str, told: Explanation) -> Explanation:
        if self.copied_from is None:
            return told
        moved = told.bytes_moved or self.leaves[name].facts.bytes
        return told._replace(
            source=self.copied_from, zero_copy=False, reasons=(_ORDER, *told.reasons), bytes_moved=moved
        )


_ORDER = "its places had to be put in order"


def _in_order(
    composite: composites.Composite, target: Bridge, copy: bool | None
) -> tuple[composites.Composite, str | None]:
    """With the framework that it was copied from, if it was. Within one framework it stays as it is."""
    source = registry.of(composite.parts["values"].__class__)
    if source is None or (source is target and source.traits().name != "numpy"):
        return composite, None
    places = {name: _numpy(part) for name, part in composite.parts.items() if name in composites.PLACES}
    blank = np.broadcast_to(np.False_, source.facts(composite.parts["values"]).shape)
    if placing.in_order(composite, {**places, "values": blank}) is None:
        return composite, None
    if copy is False:
        raise CannotShare(f"{_ORDER}, which copies it")
    ordered = placing.in_order(composite, {**places, "values": _numpy(composite.parts["values"])})
    return replace(composite, parts=ordered or {}), source.traits().name


def _numpy(x: Any) -> Any:
    return convert_framework_tensor(x, "numpy")


def _planned(
    x: Any, source: Bridge, target: Bridge, device: str | None, copy: bool | None, dtype: str | None
) -> tuple[Facts, Plan, str]:
    facts = source.facts(x)
    wanted = dtype or facts.dtype
    if source is target:
        reasons = [f"{facts.dtype} has to become {wanted}"] if wanted != facts.dtype else []
        reasons += [f"it lies on {facts.device}, {device} is asked for"] if device not in {None, facts.device} else []
        if reasons and copy is False:
            raise CannotShare(f"it cannot stay the same: {'; '.join(reasons)}")
        return facts, Plan((*reasons, *(["copy=True asks for one"] if copy else []))), wanted
    return facts, plan(facts, target.traits(), copy, wanted, device), wanted


def _converted(
    x: Any, source: Bridge, target: Bridge, facts: Facts, made: Plan, dtype: str, copy: bool | None, device: str | None
) -> tuple[Any, Explanation]:
    gives, takes = source.traits(), target.traits()
    if source is target and not made.copies:
        return x, Explanation(gives.name, takes.name, True, "same object", (), 0)
    found = _moved(x, source, target, facts, made, dtype) if made.copies else target.take(source.give(x), facts)
    if device is not None and target.facts(found).device != device:
        found = target.move(found, device)
    shared = not made.copies and (not facts.bytes or target.pointer(found) == facts.pointer)
    if copy is False and not shared:
        raise CannotShare(f"{takes.name} copied it on its own, and copy=False asks for none")
    reasons = made.copies or (() if shared else (f"{takes.name} copies it on its own",))
    protocol = "Arrow buffers" if "arrow" in {gives.name, takes.name} else "DLPack"
    moved = 0 if shared else facts._replace(dtype=dtype).bytes
    return found, Explanation(gives.name, takes.name, shared, protocol, reasons, moved, made.notes)


def _moved(x: Any, source: Bridge, target: Bridge, facts: Facts, made: Plan, dtype: str) -> Any:
    """A copy that nothing else knows of. It is made and cast where it is, as far as that framework has the type."""
    devices = target.traits().devices
    if facts.device.partition(":")[0] not in devices:
        x = source.move(x, "cpu" if "cpu" in devices else "cuda:0")
        source = registry.of(x.__class__) or source
    copied = source.copy(x, dtype if source.traits().has(dtype) else facts.dtype)
    owner = registry.of(copied.__class__) or source
    given = owner.facts(copied)
    found = (
        copied if owner is target else target.take(owner.give(copied), given._replace(read_only=False, immutable=False))
    )
    return found if given.dtype == dtype else target.cast(found, dtype)
