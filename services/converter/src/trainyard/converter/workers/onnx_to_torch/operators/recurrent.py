"""RNN, GRU and LSTM, step by step as the standard writes them."""

import torch
from torch.nn import functional as F


def _activation(name, alpha, beta):
    return {
        "relu": torch.relu,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "softsign": F.softsign,
        "softplus": F.softplus,
        "affine": lambda v: (1.0 if alpha is None else alpha) * v + (0.0 if beta is None else beta),
        "leakyrelu": lambda v: F.leaky_relu(v, 0.01 if alpha is None else alpha),
        "thresholdedrelu": lambda v: torch.where(v > (1.0 if alpha is None else alpha), v, torch.zeros_like(v)),
        "scaledtanh": lambda v: (1.0 if alpha is None else alpha) * torch.tanh((1.0 if beta is None else beta) * v),
        "hardsigmoid": lambda v: ((0.2 if alpha is None else alpha) * v + (0.5 if beta is None else beta)).clamp(0, 1),
        "elu": lambda v: F.elu(v, 1.0 if alpha is None else alpha),
    }[name.lower()]


def _activations(names, alphas, betas, count):
    alphas, betas = list(alphas or []), list(betas or [])
    takes_alpha = {"affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu"}
    takes_beta = {"affine", "scaledtanh", "hardsigmoid"}
    made = []
    for name in names:
        alpha = alphas.pop(0) if name.lower() in takes_alpha and alphas else None
        beta = betas.pop(0) if name.lower() in takes_beta and betas else None
        made.append(_activation(name, alpha, beta))
    return [made[place : place + count] for place in range(0, len(made), count)]


def _run(step, x, lengths, direction, layout, states):
    """`step(direction's number, x at a time, states) → states`; the first state is the output."""
    if layout:
        x, states = x.transpose(0, 1), [one.transpose(0, 1) for one in states]
    steps, batch = x.shape[:2]
    lengths = torch.full((batch,), steps, device=x.device) if lengths is None else lengths
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    every, last = [], []
    for number, backwards in enumerate(ways):
        now, seen = [one[number] for one in states], [None] * steps
        for time in reversed(range(steps)) if backwards else range(steps):
            alive = (time < lengths).unsqueeze(-1)
            now = [torch.where(alive, new, old) for new, old in zip(step(number, x[time], now), now)]
            seen[time] = torch.where(alive, now[0], torch.zeros_like(now[0]))
        every.append(torch.stack(seen))
        last.append(now)
    y = torch.stack(every, 1)
    ends = [torch.stack(one) for one in zip(*last)]
    if layout:
        return (y.permute(2, 0, 1, 3), *(one.transpose(0, 1) for one in ends))
    return (y, *ends)


def _start(state, x, directions, hidden, layout):
    if state is not None:
        return state
    batch = x.shape[0 if layout else 1]
    return x.new_zeros((batch, directions, hidden) if layout else (directions, batch, hidden))


def _bounded(value, clip):
    return value if clip is None else value.clamp(-clip, clip)


def RNN(
    x, w, r, b=None, lengths=None, h=None, *, activation_alpha=None, activation_beta=None, activations=None, clip=None,
    direction="forward", hidden_size=None, layout=0,
) -> tuple:  # fmt: skip
    directions, hidden = r.shape[0], hidden_size or r.shape[-1]
    made = _activations(activations or ["Tanh"] * directions, activation_alpha, activation_beta, 1)
    b = x.new_zeros(directions, 2 * hidden) if b is None else b

    def step(d, now, states):
        total = now @ w[d].t() + states[0] @ r[d].t() + b[d, :hidden] + b[d, hidden:]
        return [made[d][0](_bounded(total, clip))]

    return _run(step, x, lengths, direction, layout, [_start(h, x, directions, hidden, layout)])


def GRU(
    x, w, r, b=None, lengths=None, h=None, *, activation_alpha=None, activation_beta=None, activations=None, clip=None,
    direction="forward", hidden_size=None, layout=0, linear_before_reset=0,
) -> tuple:  # fmt: skip
    directions, hidden = r.shape[0], hidden_size or r.shape[-1]
    made = _activations(activations or ["Sigmoid", "Tanh"] * directions, activation_alpha, activation_beta, 2)
    b = x.new_zeros(directions, 6 * hidden) if b is None else b

    def step(d, now, states):
        state, (gate, act) = states[0], made[d]
        wz, wr, wh = (now @ w[d].t() + b[d, : 3 * hidden]).chunk(3, -1)
        rz, rr, rh = r[d].chunk(3, 0)
        bz, br, bh = b[d, 3 * hidden :].chunk(3, -1)
        z = gate(_bounded(wz + state @ rz.t() + bz, clip))
        reset = gate(_bounded(wr + state @ rr.t() + br, clip))
        inner = reset * (state @ rh.t() + bh) if linear_before_reset else (reset * state) @ rh.t() + bh
        return [(1 - z) * act(_bounded(wh + inner, clip)) + z * state]

    return _run(step, x, lengths, direction, layout, [_start(h, x, directions, hidden, layout)])


def LSTM(
    x, w, r, b=None, lengths=None, h=None, c=None, p=None, *, activation_alpha=None, activation_beta=None,
    activations=None, clip=None, direction="forward", hidden_size=None, input_forget=0, layout=0,
) -> tuple:  # fmt: skip
    directions, hidden = r.shape[0], hidden_size or r.shape[-1]
    names = activations or ["Sigmoid", "Tanh", "Tanh"] * directions
    made = _activations(names, activation_alpha, activation_beta, 3)
    b = x.new_zeros(directions, 8 * hidden) if b is None else b
    p = x.new_zeros(directions, 3 * hidden) if p is None else p

    def step(d, now, states):
        (state, cell), (gate, act, out) = states, made[d]
        total = now @ w[d].t() + state @ r[d].t() + b[d, : 4 * hidden] + b[d, 4 * hidden :]
        i, o, f, g = total.chunk(4, -1)
        pi, po, pf = p[d].chunk(3, -1)
        i = gate(_bounded(i + pi * cell, clip))
        f = 1 - i if input_forget else gate(_bounded(f + pf * cell, clip))
        cell = f * cell + i * act(_bounded(g, clip))
        return [gate(_bounded(o + po * cell, clip)) * out(cell), cell]

    states = [_start(one, x, directions, hidden, layout) for one in (h, c)]
    return _run(step, x, lengths, direction, layout, states)
