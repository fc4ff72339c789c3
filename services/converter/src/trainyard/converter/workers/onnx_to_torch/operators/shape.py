"""Shapes: what moves elements and counts them, and leaves them as they are."""

import torch
from torch.nn import functional as F


def Identity(x):
    return x


def Shape(x, *, start=0, end=None):
    return torch.tensor(list(x.shape)[start:end], dtype=torch.int64, device=x.device)


def Size(x):
    return torch.tensor(x.numel(), dtype=torch.int64, device=x.device)


def Reshape(x, shape, *, allowzero=0):
    sizes = shape.tolist()
    if not allowzero:
        sizes = [x.shape[place] if size == 0 else size for place, size in enumerate(sizes)]
    return x.reshape(sizes)


def Flatten(x, *, axis=1):
    axis = axis + x.dim() if axis < 0 else axis
    rows = 1
    for size in x.shape[:axis]:
        rows *= size
    return x.reshape(rows, -1) if x.numel() else x.reshape(rows, 0 if rows else -1)


def Transpose(x, *, perm=None):
    return x.permute(perm if perm is not None else list(range(x.dim()))[::-1])


def Squeeze(x, axes=None):
    if axes is None:
        return x.squeeze()
    return x.squeeze(tuple(axes.tolist()))


def Unsqueeze(x, axes):
    rank = x.dim() + axes.numel()
    for axis in sorted(one % rank for one in axes.reshape(-1).tolist()):
        x = x.unsqueeze(axis)
    return x


def Concat(*values, axis):
    return torch.cat(values, axis)


def Split(x, split=None, *, axis=0, num_outputs=None, outputs=1) -> tuple:
    if split is not None:
        return torch.split(x, split.tolist(), axis)
    count = num_outputs or outputs
    size, length = -(-x.shape[axis] // count), x.shape[axis]
    sizes = [max(0, min(size, length - place * size)) for place in range(count)]
    return torch.split(x, sizes, axis)


def Slice(x, starts, ends, axes=None, steps=None):
    starts, ends = starts.tolist(), ends.tolist()
    axes = list(range(len(starts))) if axes is None else axes.tolist()
    steps = [1] * len(starts) if steps is None else steps.tolist()
    for start, end, axis, step in zip(starts, ends, axes, steps):
        chosen = range(x.shape[axis])[slice(start, end if end >= -(2**62) else None, step)]
        if step > 0:
            part = [slice(None)] * x.dim()
            part[axis] = slice(chosen.start, max(chosen.start, chosen.stop), step)
            x = x[tuple(part)]
        else:
            x = x.index_select(axis, torch.tensor(list(chosen), dtype=torch.int64, device=x.device))
    return x


def Expand(x, shape):
    return x.expand(torch.broadcast_shapes(tuple(x.shape), tuple(shape.tolist())))


def Tile(x, repeats):
    return x.repeat(repeats.tolist())


def DepthToSpace(x, *, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        return x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)
    return x.reshape(n, c // b**2, b, b, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // b**2, h * b, w * b)


def SpaceToDepth(x, *, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    b = blocksize
    if mode == "CRD":
        return x.reshape(n, c, h // b, b, w // b, b).permute(0, 1, 3, 5, 2, 4).reshape(n, c * b * b, h // b, w // b)
    return x.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def Pad(x, pads, value=None, axes=None, *, mode="constant"):
    pads = pads.tolist()
    axes = list(range(x.dim())) if axes is None else [one % x.dim() for one in axes.tolist()]
    half = len(pads) // 2
    for axis, before, after in zip(axes, pads[:half], pads[half:]):
        size = x.shape[axis]
        if mode == "constant":
            widths = [0, 0] * (x.dim() - 1 - axis) + [before, after]
            x = F.pad(x, widths, value=0 if value is None else value.item())
            continue
        # By index, so that every rank works and a pad may be wider than the axis.
        place = torch.arange(-before, size + after, device=x.device)
        if mode == "edge":
            place = place.clamp(0, size - 1)
        elif mode == "wrap":
            place = place % size
        elif size > 1:
            place = place % (2 * size - 2)
            place = torch.where(place >= size, 2 * size - 2 - place, place)
        else:
            place = torch.zeros_like(place)
        x = x.index_select(axis, place)
    return x


def Trilu(x, k=None, *, upper=1):
    diagonal = 0 if k is None else int(k)
    return torch.triu(x, diagonal) if upper else torch.tril(x, diagonal)


def ReverseSequence(x, lengths, *, batch_axis=1, time_axis=0):
    x = x.movedim((time_axis, batch_axis), (0, 1)).clone()
    for place, length in enumerate(lengths.tolist()):
        x[:length, place] = x[:length, place].flip(0)
    return x.movedim((0, 1), (time_axis, batch_axis))
