"""Sequences are Python lists, an empty optional is None."""

import torch


def SequenceConstruct(*values):
    return list(values)


def SequenceEmpty(*, dtype=None):
    del dtype
    return []


def SequenceAt(sequence, position):
    return sequence[int(position)]


def SequenceInsert(sequence, value, position=None):
    place = len(sequence) if position is None else int(position)
    place = place + len(sequence) if place < 0 else place
    return [*sequence[:place], value, *sequence[place:]]


def SequenceErase(sequence, position=None):
    place = (len(sequence) - 1 if position is None else int(position)) % len(sequence)
    return [*sequence[:place], *sequence[place + 1 :]]


def SequenceLength(sequence):
    return torch.tensor(len(sequence))


def ConcatFromSequence(sequence, *, axis, new_axis=0):
    return torch.stack(sequence, axis) if new_axis else torch.cat(sequence, axis)


def SplitToSequence(x, split=None, *, axis=0, keepdims=1):
    if split is None:
        parts = torch.split(x, 1, axis)
        return list(parts) if keepdims else [one.squeeze(axis) for one in parts]
    return list(torch.split(x, int(split) if split.dim() == 0 else split.tolist(), axis))


def OptionalHasElement(value=None):
    return torch.tensor(value is not None)


def OptionalGetElement(value):
    return value
