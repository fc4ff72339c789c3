"""Fourier transforms, and blocks back to images."""

import torch
from torch.nn import functional as F


def DFT(x, length=None, axis=None, *, inverse=0, onesided=0):
    axis = (-2 if axis is None else int(axis)) % x.dim()
    wide = torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x.squeeze(-1)
    count = None if length is None else int(length)
    if onesided and inverse:
        return torch.fft.irfft(wide, count, axis).unsqueeze(-1)
    if onesided:
        return torch.view_as_real(torch.fft.rfft(wide.real if wide.is_complex() else wide, count, axis))
    return torch.view_as_real((torch.fft.ifft if inverse else torch.fft.fft)(wide, count, axis))


def STFT(signal, step, window=None, length=None, *, onesided=1):
    size = int(length) if length is not None else window.shape[0]
    wide = torch.view_as_complex(signal.contiguous()) if signal.shape[-1] == 2 else signal.squeeze(-1)
    frames = wide.unfold(1, size, int(step))
    if window is not None:
        frames = frames * window
    transform = torch.fft.rfft if onesided else torch.fft.fft
    return torch.view_as_real(transform(frames, dim=-1))


def Col2Im(x, image_shape, block_shape, *, dilations=None, pads=None, strides=None):
    """Any number of spatial axes, by adding every block's elements where they belong."""
    image, block = image_shape.tolist(), block_shape.tolist()
    rank = len(image)
    dilations, strides, pads = dilations or [1] * rank, strides or [1] * rank, pads or [0] * 2 * rank
    padded = [size + pads[axis] + pads[rank + axis] for axis, size in enumerate(image)]
    flat = torch.arange(torch.Size(padded).numel(), device=x.device).reshape(padded)
    for axis in range(rank):
        flat = flat.unfold(axis, (block[axis] - 1) * dilations[axis] + 1, strides[axis])
    flat = flat[(..., *(slice(None, None, step) for step in dilations))].flatten(rank).flatten(0, rank - 1)
    channels = x.shape[1] // torch.Size(block).numel()
    values = x.reshape(x.shape[0], channels, -1)
    places = flat.t().reshape(-1).expand_as(values)
    y = x.new_zeros(x.shape[0], channels, torch.Size(padded).numel()).scatter_add(2, places, values)
    y = y.reshape(x.shape[0], channels, *padded)
    return F.pad(y, [-pads[place] for axis in reversed(range(rank)) for place in (axis, rank + axis)])
