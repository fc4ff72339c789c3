"""Convolutions and products of matrices."""

import torch
from torch.nn import functional as F


def _pads(sizes, kernel, strides, dilations, pads, auto_pad):
    """Before and after each spatial axis."""
    if auto_pad in {"NOTSET", "VALID"}:
        pads = [0, 0] * len(sizes) if pads is None or auto_pad == "VALID" else pads
        return list(zip(pads[: len(sizes)], pads[len(sizes) :]))
    both = []
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations):
        total = max(0, (-(-size // stride) - 1) * stride + (width - 1) * dilation + 1 - size)
        small, large = total // 2, total - total // 2
        both.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
    return both


def _widths(both):
    return [width for pair in reversed(both) for width in pair]


def Conv(x, w, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None):
    rank = x.dim() - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    both = _pads(x.shape[2:], kernel_shape or w.shape[2:], strides, dilations, pads, auto_pad)
    convolve = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    if all(before == after for before, after in both):
        return convolve(x, w, b, strides, [before for before, _ in both], dilations, group)
    return convolve(F.pad(x, _widths(both)), w, b, strides, 0, dilations, group)


def ConvTranspose(
    x, w, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, output_padding=None,
    output_shape=None, pads=None, strides=None,
):  # fmt: skip
    rank = x.dim() - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    extra, pads = output_padding or [0] * rank, pads or [0] * 2 * rank
    convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    y = convolve(x, w, None, strides, 0, 0, group, dilations)
    both = []
    for axis in range(rank):
        full = y.shape[2 + axis] + extra[axis]
        before, after = pads[axis], pads[rank + axis]
        if output_shape is not None or auto_pad.startswith("SAME"):
            wanted = x.shape[2 + axis] * strides[axis] if output_shape is None else output_shape[-rank:][axis]
            total = full - wanted
            small, large = total // 2, total - total // 2
            before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
            if total < 0:
                before, after = 0, total
        both.append((-before, extra[axis] - after))
    y = F.pad(y, _widths(both))
    return y if b is None else y + b.reshape([-1] + [1] * rank)


def MatMul(a, b):
    return torch.matmul(a, b)


def Gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    product = (a.t() if transA else a) @ (b.t() if transB else b)
    if alpha != 1.0:
        product = (alpha * product).to(a.dtype)
    if c is None:
        return product
    return product + (c if beta == 1.0 else (beta * c).to(c.dtype))


def Einsum(*values, equation):
    return torch.einsum(equation, *values)


def Det(x):
    return torch.linalg.det(x)
