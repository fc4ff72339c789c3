"""Comparison, logic and bits."""

import torch

from .arithmetic import _wide


def Equal(a, b):
    return a == b


def Greater(a, b):
    return _wide(torch.gt, a, b)


def GreaterOrEqual(a, b):
    return _wide(torch.ge, a, b)


def Less(a, b):
    return _wide(torch.lt, a, b)


def LessOrEqual(a, b):
    return _wide(torch.le, a, b)


def And(a, b):
    return a & b


def Or(a, b):
    return a | b


def Xor(a, b):
    return a ^ b


def Not(x):
    return ~x


def BitwiseAnd(a, b):
    return a & b


def BitwiseOr(a, b):
    return a | b


def BitwiseXor(a, b):
    return a ^ b


def BitwiseNot(x):
    return _wide(torch.bitwise_not, x)


def BitShift(a, b, *, direction):
    wide, by = a.to(torch.int64), b.to(torch.int64)
    return (wide << by if direction == "LEFT" else wide >> by).to(a.dtype)


def Where(condition, a, b):
    return torch.where(condition, a, b)
