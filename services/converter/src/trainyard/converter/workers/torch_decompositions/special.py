"""Functions of one number or two."""

import math

import torch

aten = torch.ops.aten
_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
"""For g = 7. Source: P. Godfrey, "A note on the computation of the convergent Lanczos complex Gamma approximation" (2001)."""

_GILES_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_GILES_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip
"""Single precision. Source: M. Giles, "Approximating the erfinv function", GPU Computing Gems 2 (2011)."""


def hypot(x, y):
    """Scaled, so that no square overflows."""
    x, y = x.abs(), y.abs()
    large = torch.maximum(x, y)
    ratio = torch.where(large == 0, 0, torch.minimum(x, y) / large)
    return torch.where(large.isinf(), large, large * torch.sqrt(1 + ratio * ratio))


def copysign(x, y):
    """The sign of a zero too: one over it is an infinity that shows it."""
    negative = (y < 0) | ((y == 0) & (1 / y < 0))
    return torch.where(negative, -x.abs(), x.abs())


def vander(x, N=None, increasing=False):
    columns = x.shape[0] if N is None else N
    powers = torch.arange(columns, device=x.device)
    return x.unsqueeze(-1) ** (powers if increasing else columns - 1 - powers)


def linalg_vander(x, *, N=None):
    return x.unsqueeze(-1) ** torch.arange(x.shape[-1] if N is None else N, device=x.device)


def erfinv(x):
    """Two polynomials of Giles, of the logarithm of 1 - x²."""
    rest = -torch.log((1 - x) * (1 + x))
    near = polynomial(_GILES_NEAR, rest - 2.5)
    far = polynomial(_GILES_FAR, rest.clamp(min=5).sqrt() - 3)
    found = torch.where(rest < 5, near, far) * x
    return torch.where(x.abs() == 1, x * torch.inf, found)


def polynomial(coefficients, x):
    total = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def ndtri(x):
    return erfinv(2 * x - 1) * math.sqrt(2)


def lgamma(x):
    """Lanczos' approximation in double precision; by reflection below one half."""
    wide = x.to(torch.float64)
    above = torch.where(wide < 0.5, 1 - wide, wide) - 1
    total = torch.full_like(above, _LANCZOS[0])
    for index, coefficient in enumerate(_LANCZOS[1:], 1):
        total = total + coefficient / (above + index)
    shifted = above + 7.5
    found = 0.5 * math.log(2 * math.pi) + (above + 0.5) * torch.log(shifted) - shifted + torch.log(total)
    reflected = math.log(math.pi) - torch.log(torch.abs(torch.sin(math.pi * (wide - wide.floor())))) - found
    found = torch.where(wide < 0.5, reflected, found)
    return torch.where((wide <= 0) & (wide == wide.floor()), torch.inf, found).to(x.dtype)


TABLE = {
    aten.hypot.default: hypot,
    aten.copysign.Tensor: copysign,
    aten.linalg_vander.default: linalg_vander,
    aten.vander.default: vander,
    aten.erfinv.default: erfinv,
    aten.special_erfinv.default: erfinv,
    aten.special_ndtri.default: ndtri,
    aten.lgamma.default: lgamma,
}
