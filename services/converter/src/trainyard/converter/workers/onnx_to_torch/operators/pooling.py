"""Pooling through windows: every rank, dilation, rounding and padding in the same few lines."""

import torch
from torch.nn import functional as F

from .convolution import _pads, _widths


def _spans(sizes, kernel, strides, dilations, pads, auto_pad, ceil_mode):
    """Before each spatial axis, after it, and what rounding up adds after it."""
    both = _pads(sizes, kernel, strides, dilations, pads, auto_pad)
    spans = []
    for size, width, stride, dilation, (before, after) in zip(sizes, kernel, strides, dilations, both):
        reach = (width - 1) * dilation + 1
        room = size + before + after - reach
        count = (-(-room // stride) if ceil_mode else room // stride) + 1
        if ceil_mode and (count - 1) * stride >= size + before:
            count -= 1
        spans.append((before, after, max(0, (count - 1) * stride - room)))
    return spans


def _windows(x, kernel, strides, dilations, spans, fill, fill_more=None):
    """N, C, places …, elements of a window."""
    rank = len(kernel)
    x = F.pad(x, _widths([(before, after) for before, after, _ in spans]), value=fill)
    x = F.pad(x, _widths([(0, more) for _, _, more in spans]), value=fill if fill_more is None else fill_more)
    for axis in range(rank):
        x = x.unfold(2 + axis, (kernel[axis] - 1) * dilations[axis] + 1, strides[axis])
    x = x[(..., *(slice(None, None, step) for step in dilations))]
    return x.flatten(-rank)


def _setting(x, kernel, strides, dilations, pads, auto_pad, ceil_mode):
    strides, dilations = strides or [1] * len(kernel), dilations or [1] * len(kernel)
    return strides, dilations, _spans(x.shape[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)


def MaxPool(
    x, *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, dilations=None, pads=None, storage_order=0, strides=None,
    outputs=1,
) -> tuple:  # fmt: skip
    strides, dilations, spans = _setting(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    lowest = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
    windows = _windows(x, kernel_shape, strides, dilations, spans, lowest)
    best, place = windows.max(-1)
    if outputs == 1:
        return (best,)
    sizes = list(x.shape)
    if storage_order:
        sizes[2:] = sizes[:1:-1]
    flat = torch.arange(x.numel(), device=x.device).reshape(sizes)
    if storage_order:
        flat = flat.permute(0, 1, *range(x.dim() - 1, 1, -1))
    places = _windows(flat, kernel_shape, strides, dilations, spans, -1)
    return best, places.gather(-1, place.unsqueeze(-1)).squeeze(-1)


def AveragePool(
    x, *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None, pads=None, strides=None
):
    strides, dilations, spans = _setting(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    total = _windows(x, kernel_shape, strides, dilations, spans, 0).sum(-1)
    ones = torch.ones((1, 1, *x.shape[2:]), dtype=x.dtype, device=x.device)
    counted = 1 if count_include_pad else 0
    return total / _windows(ones, kernel_shape, strides, dilations, spans, counted, 0).sum(-1)


def LpPool(x, *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, dilations=None, p=2, pads=None, strides=None):
    strides, dilations, spans = _setting(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    return _windows(x.abs() ** p, kernel_shape, strides, dilations, spans, 0).sum(-1) ** (1 / p)


def GlobalAveragePool(x):
    return x.mean(list(range(2, x.dim())), keepdim=True)


def GlobalMaxPool(x):
    return x.amax(list(range(2, x.dim())), keepdim=True)


def GlobalLpPool(x, *, p=2):
    return (x.abs() ** p).sum(list(range(2, x.dim())), keepdim=True) ** (1 / p)


def MaxUnpool(x, indices, output_shape=None, *, kernel_shape, pads=None, strides=None):
    rank = len(kernel_shape)
    strides, pads = strides or [1] * rank, pads or [0] * 2 * rank
    sizes = [
        (x.shape[2 + axis] - 1) * strides[axis] + kernel_shape[axis] - pads[axis] - pads[rank + axis]
        for axis in range(rank)
    ]
    natural = [*x.shape[:2], *sizes]
    total = 1
    for size in natural:
        total *= size
    flat = torch.zeros(total, dtype=x.dtype, device=x.device)
    y = flat.scatter(0, indices.reshape(-1), x.reshape(-1)).reshape(natural)
    if output_shape is None:
        return y
    wanted = output_shape.tolist()
    return F.pad(y, _widths([(0, one - size) for one, size in zip(wanted[2:], sizes)]))
