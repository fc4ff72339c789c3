"""LSTMs that project their state: ONNX has none, so their steps are unrolled."""

import torch

from trainyard.converter.workers.torch_decompositions.refused import fixed

aten = torch.ops.aten


def lstm(x, state, weights, has_biases, num_layers, _dropout, _train, bidirectional, batch_first):
    if state[0].shape[-1] == state[1].shape[-1]:
        return NotImplemented
    x = x.transpose(0, 1) if batch_first else x
    fixed(x.shape[:1], "LSTM with projections")
    directions, each = 2 if bidirectional else 1, 5 if has_biases else 3
    hidden, cells = [], []
    for layer in range(num_layers):
        found = []
        for direction in range(directions):
            at = layer * directions + direction
            own = weights[at * each : (at + 1) * each]
            steps, h, c = along(x, state[0][at], state[1][at], own, backwards=direction == 1)
            found.append(steps)
            hidden.append(h)
            cells.append(c)
        x = torch.cat(found, -1)
    return x.transpose(0, 1) if batch_first else x, torch.stack(hidden), torch.stack(cells)


def along(x, h, c, weights, backwards):
    """One layer in one direction over x [steps, batch, features]."""
    of_input, of_state, *biases, projection = weights
    steps = list(x.unbind(0))
    found = []
    for step in reversed(steps) if backwards else steps:
        gates = step @ of_input.T + h @ of_state.T + sum(biases)
        admit, forget, cell, output = gates.chunk(4, -1)
        c = forget.sigmoid() * c + admit.sigmoid() * cell.tanh()
        h = (output.sigmoid() * c.tanh()) @ projection.T
        found.append(h)
    return torch.stack(found[::-1] if backwards else found), h, c


TABLE = {aten.lstm.input: lstm}
