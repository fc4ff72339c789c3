"""Resize, axis by axis: each is a matrix of weights, so that every mode of the standard is the same product."""

import math

import torch
from torch.nn import functional as F


def _source(place, scale, size_in, size_out, mode, low, high):
    if mode == "align_corners":
        return place * (size_in - 1) / (size_out - 1) if size_out > 1 else 0.0
    if mode == "asymmetric":
        return place / scale
    if mode == "tf_crop_and_resize":
        if size_out > 1:
            return low * (size_in - 1) + place * (high - low) * (size_in - 1) / (size_out - 1)
        return 0.5 * (low + high) * (size_in - 1)
    if mode == "half_pixel_symmetric":
        adjust = size_out / (scale * size_in)
        return size_in / 2 * (1 - adjust) + (place + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel" and size_out <= 1:
        return 0.0
    return (place + 0.5) / scale - 0.5


def _kernel(mode, a):
    def linear(d):
        return max(0.0, 1 - abs(d))

    def cubic(d):
        d = abs(d)
        if d <= 1:
            return (a + 2) * d**3 - (a + 3) * d**2 + 1
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0

    return (linear, 1) if mode == "linear" else (cubic, 2)


def _nearest(at, how):
    if how == "floor":
        return math.floor(at)
    if how == "ceil":
        return math.ceil(at)
    return math.ceil(at - 0.5) if how == "round_prefer_floor" else math.floor(at + 0.5)


def _row(at, size, scale, mode, how, a, exclude, antialias):
    row = [0.0] * size
    if mode == "nearest":
        row[min(max(_nearest(at, how), 0), size - 1)] = 1.0
        return row
    kernel, reach = _kernel(mode, a)
    shrink = min(1.0, scale) if antialias else 1.0
    first, last = math.floor(at - reach / shrink), math.ceil(at + reach / shrink)
    for place in range(first, last + 1):
        if exclude and not 0 <= place < size:
            continue
        row[min(max(place, 0), size - 1)] += kernel((at - place) * shrink)
    total = sum(row)
    return [one / total for one in row] if total else row


def Resize(
    x, roi=None, scales=None, sizes=None, *, antialias=0, axes=None, coordinate_transformation_mode="half_pixel",
    cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, keep_aspect_ratio_policy="stretch",
    mode="nearest", nearest_mode="round_prefer_floor",
):  # fmt: skip
    axes = [one % x.dim() for one in axes] if axes else list(range(x.dim()))
    if scales is not None and scales.numel():
        factors = scales.tolist()
        wanted = [math.floor(x.shape[axis] * factor) for axis, factor in zip(axes, factors)]
    else:
        wanted = sizes.tolist()
        factors = [size / x.shape[axis] for axis, size in zip(axes, wanted)]
        if keep_aspect_ratio_policy != "stretch":
            factor = min(factors) if keep_aspect_ratio_policy == "not_larger" else max(factors)
            wanted = [math.floor(x.shape[axis] * factor + 0.5) for axis in axes]
            factors = [factor] * len(axes)
    crop = coordinate_transformation_mode == "tf_crop_and_resize"
    region = roi.tolist() if crop else [0.0] * len(axes) + [1.0] * len(axes)
    dtype = x.dtype
    y = x if dtype in {torch.float32, torch.float64} else x.float()
    for number, (axis, factor, size_out) in enumerate(zip(axes, factors, wanted)):
        size, low, high = x.shape[axis], region[number], region[len(axes) + number]
        if size == size_out and factor == 1 and not crop:
            continue
        places = [
            _source(place, factor, size, size_out, coordinate_transformation_mode, low, high)
            for place in range(size_out)
        ]
        rows = [_row(at, size, factor, mode, nearest_mode, cubic_coeff_a, exclude_outside, antialias) for at in places]
        weights = torch.tensor(rows, dtype=y.dtype, device=y.device).reshape(size_out, size)
        y = (y.movedim(axis, -1) @ weights.t()).movedim(-1, axis)
        if crop:
            outside = torch.tensor([not 0 <= at <= size - 1 for at in places], device=y.device)
            shape = [-1 if one == axis else 1 for one in range(y.dim())]
            y = torch.where(outside.reshape(shape), torch.tensor(extrapolation_value, dtype=y.dtype), y)
    return y.to(dtype) if dtype.is_floating_point else y.round().to(dtype)


def GridSample(x, grid, *, align_corners=0, mode="linear", padding_mode="zeros"):
    kind = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return F.grid_sample(x, grid, kind, padding_mode, bool(align_corners))
