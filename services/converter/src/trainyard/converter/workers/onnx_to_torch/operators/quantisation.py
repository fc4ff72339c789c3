"""Quantised numbers: integers are computed in a wide type, as torch has no kernels for most of them."""

import torch

from .convolution import Conv


def _spread(value, x, axis, block_size=0):
    """A scale or zero point in the shape that fits x: one for all, one an index of the axis, or one a block of it."""
    if value is None or (value.numel() == 1 and not block_size):
        return value if value is None else value.reshape(())
    if block_size:
        return value.repeat_interleave(block_size, axis).narrow(axis, 0, x.shape[axis])
    return value.reshape([-1 if one == axis % x.dim() else 1 for one in range(x.dim())])


def QuantizeLinear(x, scale, zero=None, *, axis=1, block_size=0, output_dtype=None, precision=None, saturate=1):
    del precision
    target = zero.dtype if zero is not None else output_dtype or torch.uint8
    scale, zero = _spread(scale, x, axis, block_size), _spread(zero, x, axis, block_size)
    y = x.float() / scale.float()
    if target.is_floating_point:
        edge = torch.finfo(target).max
        y = y if zero is None else y + zero.float()
        return (y.clamp(-edge, edge) if saturate else y).to(target)
    y = torch.round(y) if zero is None else torch.round(y) + zero.float()
    limits = torch.iinfo(target)
    return y.clamp(limits.min, limits.max).to(torch.int32).to(target)


def DequantizeLinear(x, scale, zero=None, *, axis=1, block_size=0, output_dtype=None):
    dtype = output_dtype or scale.dtype
    scale, zero = _spread(scale, x, axis, block_size), _spread(zero, x, axis, block_size)
    y = x.float() if zero is None else x.float() - zero.float()
    return (y * scale.float()).to(dtype)


def MatMulInteger(a, b, za=None, zb=None):
    a, b = a.to(torch.int32), b.to(torch.int32)
    if za is not None:
        a = a - (za.to(torch.int32).unsqueeze(-1) if za.dim() == 1 and za.numel() > 1 else za.to(torch.int32))
    return a @ (b if zb is None else b - zb.to(torch.int32))


def QLinearMatMul(a, sa, za, b, sb, zb, sy, zy):
    return QuantizeLinear(MatMulInteger(a, b, za, zb).float() * (sa * sb).float(), sy, zy)


def ConvInteger(
    x, w, zx=None, zw=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None
):
    x = x.double() if zx is None else x.double() - zx.double()
    if zw is not None:
        w = w.double() - zw.double().reshape([-1] + [1] * (w.dim() - 1))
    given = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "pads": pads, "strides": strides}
    return Conv(x, w.double(), kernel_shape=kernel_shape, **given).to(torch.int32)


def QLinearConv(
    x, sx, zx, w, sw, zw, sy, zy, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None,
    strides=None,
):  # fmt: skip
    given = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "pads": pads, "strides": strides}
    total = ConvInteger(x, w, zx, zw, kernel_shape=kernel_shape, **given)
    shape = [-1] + [1] * (x.dim() - 2)
    if b is not None:
        total = total + b.reshape(shape)
    return QuantizeLinear(total.float() * (sx * sw).reshape(shape if sw.numel() > 1 else []), sy, zy)


def DynamicQuantizeLinear(x) -> tuple:
    low, high = x.min().clamp(max=0), x.max().clamp(min=0)
    scale = (high - low) / 255
    zero = torch.round(-low / scale).clamp(0, 255).to(torch.uint8)
    return QuantizeLinear(x, scale, zero), scale, zero
