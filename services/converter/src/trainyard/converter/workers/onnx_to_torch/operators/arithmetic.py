"""Element by element: arithmetic, comparison, logic."""

import torch


def _wide(function, *values):
    """torch computes next to nothing on unsigned integers above eight bits: in int64, and back.

    Sums, differences and products of uint64 come out right through int64; an order or a quotient does not above 2⁶³.
    """
    kind = values[0].dtype
    if kind not in {torch.uint16, torch.uint32, torch.uint64}:
        return function(*values)
    result = function(*(value.to(torch.int64) for value in values))
    return result.to(kind) if result.dtype == torch.int64 else result


def _fold(function, values):
    result = values[0]
    for value in values[1:]:
        result = _wide(function, result, value)
    return result


def Add(a, b):
    return _wide(torch.add, a, b)


def Sub(a, b):
    return _wide(torch.sub, a, b)


def Mul(a, b):
    return _wide(torch.mul, a, b)


def Div(a, b):
    if a.is_floating_point():
        return a / b
    return _wide(lambda p, q: torch.div(p, q, rounding_mode="trunc"), a, b)


def Mod(a, b, *, fmod=0):
    return _wide(torch.fmod if fmod else torch.remainder, a, b)


def Pow(a, b):
    return torch.pow(a, b).to(a.dtype)


def Sum(*values):
    return _fold(torch.add, values)


def Mean(*values):
    return _fold(torch.add, values) / len(values)


def Max(*values):
    return _fold(torch.maximum, values)


def Min(*values):
    return _fold(torch.minimum, values)


def Abs(x):
    return x.abs()


def Neg(x):
    return -x


def Sign(x):
    return torch.sign(x)


def Ceil(x):
    return torch.ceil(x)


def Floor(x):
    return torch.floor(x)


def Round(x):
    return torch.round(x)


def Reciprocal(x):
    return torch.reciprocal(x)


def Sqrt(x):
    return torch.sqrt(x)


def Exp(x):
    return torch.exp(x)


def Log(x):
    return torch.log(x)


def Erf(x):
    return torch.erf(x)


def Sin(x):
    return torch.sin(x)


def Cos(x):
    return torch.cos(x)


def Tan(x):
    return torch.tan(x)


def Asin(x):
    return torch.asin(x)


def Acos(x):
    return torch.acos(x)


def Atan(x):
    return torch.atan(x)


def Sinh(x):
    return torch.sinh(x)


def Cosh(x):
    return torch.cosh(x)


def Tanh(x):
    return torch.tanh(x)


def Asinh(x):
    return torch.asinh(x)


def Acosh(x):
    return torch.acosh(x)


def Atanh(x):
    return torch.atanh(x)


def IsNaN(x):
    return torch.isnan(x)


def IsInf(x, *, detect_negative=1, detect_positive=1):
    found = torch.zeros_like(x, dtype=torch.bool)
    if detect_negative:
        found = found | torch.isneginf(x)
    if detect_positive:
        found = found | torch.isposinf(x)
    return found
