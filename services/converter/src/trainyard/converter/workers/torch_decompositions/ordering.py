"""Order statistics by a whole sort, and what runs along an axis by a table of what came before."""

import torch

aten = torch.ops.aten


def kthvalue(x, k, dim=-1, keepdim=False):
    values, indices = torch.sort(x, dim=dim)
    found = values.narrow(dim, k - 1, 1), indices.narrow(dim, k - 1, 1)
    return found if keepdim else tuple(item.squeeze(dim) for item in found)


def median(x, dim, keepdim=False):
    """The lower of two middle ones, and NaN where there is any."""
    value, index = kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)
    if x.is_floating_point():
        value = torch.where(x.isnan().any(dim, keepdim), torch.nan, value)
    return value, index


def median_of_all(x):
    return median(x.flatten(), 0)[0]


def nanmedian(x, dim, keepdim=False):
    missing = x.isnan()
    values, indices = torch.sort(torch.where(missing, torch.inf, x), dim=dim)
    middle = ((~missing).sum(dim, keepdim=True) - 1) // 2
    at = middle.clamp(min=0)
    value = torch.where(middle < 0, torch.nan, values.gather(dim, at))
    found = value, indices.gather(dim, at)
    return found if keepdim else tuple(item.squeeze(dim) for item in found)


def mode(x, dim=-1, keepdim=False):
    """The smallest of the most frequent values, and its last place."""
    x = x.movedim(dim, -1)
    often = (x.unsqueeze(-1) == x.unsqueeze(-2)).to(torch.int64).sum(-1)
    most = often == often.amax(-1, keepdim=True)
    beyond = torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).max
    value = torch.where(most, x, beyond).amin(-1, keepdim=True)
    places = torch.arange(x.shape[-1], device=x.device)
    index = torch.where(x == value, places, -1).amax(-1, keepdim=True)
    found = value.movedim(-1, dim), index.movedim(-1, dim)
    return found if keepdim else tuple(item.squeeze(dim) for item in found)


def so_far(x):
    """[…, n, n] of x along its last axis: row i has what stands at i and before; and which of it that is."""
    places = torch.arange(x.shape[-1], device=x.device)
    return x.unsqueeze(-2), places <= places.unsqueeze(-1), places


def extreme_so_far(x, dim, largest):
    x = x.movedim(dim, -1)
    row, reached, places = so_far(x)
    if x.is_floating_point():
        beyond = -torch.inf if largest else torch.inf
    else:
        beyond = torch.iinfo(x.dtype).min if largest else torch.iinfo(x.dtype).max
    row = torch.where(reached, row, beyond)
    value = row.amax(-1) if largest else row.amin(-1)
    index = torch.where(reached & (row == value.unsqueeze(-1)), places, -1).amax(-1)  # of equal ones, the last
    return value.movedim(-1, dim), index.movedim(-1, dim)


def cummax(x, dim):
    return extreme_so_far(x, dim, largest=True)


def cummin(x, dim):
    return extreme_so_far(x, dim, largest=False)


def cumprod(x, dim, *, dtype=None):
    x = (x if dtype is None else x.to(dtype)).movedim(dim, -1)
    row, reached, _ = so_far(x)
    return torch.where(reached, row, 1).prod(-1).movedim(-1, dim)


TABLE = {
    aten.kthvalue.default: kthvalue,
    aten.median.dim: median,
    aten.median.default: median_of_all,
    aten.nanmedian.dim: nanmedian,
    aten.mode.default: mode,
    aten.cummax.default: cummax,
    aten.cummin.default: cummin,
    aten.cumprod.default: cumprod,
}
