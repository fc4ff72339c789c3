"""Gathering, scattering and making tensors."""

import torch


def _positive(indices, size):
    indices = indices.to(torch.int64)
    return torch.where(indices < 0, indices + size, indices)


def Gather(x, indices, *, axis=0):
    indices = _positive(indices, x.shape[axis])
    axis = axis % x.dim()
    found = x.index_select(axis, indices.reshape(-1))
    return found.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def GatherElements(x, indices, *, axis=0):
    return torch.gather(x, axis, _positive(indices, x.shape[axis]))


def GatherND(x, indices, *, batch_dims=0):
    lead = [
        torch.arange(size, device=x.device).reshape([-1 if one == place else 1 for one in range(indices.dim() - 1)])
        for place, size in enumerate(x.shape[:batch_dims])
    ]
    rest = [_positive(one, x.shape[batch_dims + place]) for place, one in enumerate(indices.unbind(-1))]
    return x[tuple(lead + rest)]


def ScatterElements(x, indices, updates, *, axis=0, reduction="none"):
    indices = _positive(indices, x.shape[axis])
    if reduction == "none":
        return x.scatter(axis, indices, updates)
    kind = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return x.scatter_reduce(axis, indices, updates, kind)


def ScatterND(x, indices, updates, *, reduction="none"):
    depth = indices.shape[-1]
    strides, step = [], 1
    for size in reversed(x.shape[:depth]):
        strides.insert(0, step)
        step *= size
    flat = sum(_positive(one, x.shape[place]) * strides[place] for place, one in enumerate(indices.unbind(-1)))
    rows = x.reshape(step, -1)
    flat, updates = flat.reshape(-1, 1).expand(-1, rows.shape[1]), updates.reshape(-1, rows.shape[1])
    return ScatterElements(rows, flat, updates, axis=0, reduction=reduction).reshape(x.shape)


def OneHot(indices, depth, values, *, axis=-1):
    count = int(depth)
    indices = _positive(indices, count)
    axis = axis % (indices.dim() + 1)
    classes = torch.arange(count, device=indices.device).reshape([-1] + [1] * (indices.dim() - axis))
    return torch.where(indices.unsqueeze(axis) == classes, values[1], values[0])


def NonZero(x):
    return torch.nonzero(x).t()


def Compress(x, condition, *, axis=None):
    if axis is None:
        x, axis = x.reshape(-1), 0
    return x.index_select(axis, torch.nonzero(condition).reshape(-1))


def Unique(x, *, axis=None, sorted=1) -> tuple:
    if axis is None:
        x, axis = x.reshape(-1), 0
    values, inverse, counts = torch.unique(x, sorted=True, return_inverse=True, return_counts=True, dim=axis)
    order = torch.arange(inverse.numel(), device=x.device)
    first = torch.full_like(counts, inverse.numel()).scatter_reduce(0, inverse, order, "amin")
    if not sorted:
        by_place = first.argsort()
        rank = by_place.argsort()
        values, first, counts = values.index_select(axis, by_place), first[by_place], counts[by_place]
        inverse = rank[inverse]
    return values, first, inverse, counts


def ConstantOfShape(shape, *, value=None):
    value = torch.zeros(1) if value is None else value
    return value.to(shape.device).reshape(()).repeat(shape.tolist())


def Range(start, limit, delta):
    return torch.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype, device=start.device)


def EyeLike(x, *, dtype=None, k=0):
    ones = torch.ones(x.shape, device=x.device)
    return (torch.triu(ones, k) - torch.triu(ones, k + 1)).to(dtype or x.dtype)


def Cast(x, *, to, saturate=1, round_mode="up"):
    del round_mode
    if saturate and to in {torch.float8_e4m3fn, torch.float8_e5m2}:
        edge = torch.finfo(to).max
        x = torch.where(torch.isnan(x.float()), x.float(), x.float().clamp(-edge, edge))
    return x.to(to)


def CastLike(x, like, *, saturate=1, round_mode="up"):
    return Cast(x, to=like.dtype, saturate=saturate, round_mode=round_mode)


def StackScan(values, axis=0, backwards=0):
    if not values:
        return torch.empty(0)
    return torch.stack(values[::-1] if backwards else values, axis)


def BitCast(x, *, to):
    return x.to(torch.uint8).view(to) if x.dtype == torch.bool else x.contiguous().view(to)


def TensorScatter(past, update, write_indices=None, *, axis=-2, mode="linear"):
    """A cache of keys or values, written from each batch row's own index on."""
    rows = past.movedim(axis, 1).clone()
    update = update.movedim(axis, 1)
    starts = [0] * past.shape[0] if write_indices is None else write_indices.tolist()
    for row, start in enumerate(starts):
        places = torch.arange(start, start + update.shape[1], device=past.device)
        rows[row, places % rows.shape[1] if mode == "circular" else places] = update[row]
    return rows.movedim(1, axis)
