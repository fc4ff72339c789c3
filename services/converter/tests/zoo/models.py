"""Small models that other converters got wrong; each class names the public report. Imported in the torch image only."""

import os
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody writes it


class Residual(nn.Module):
    """pytorch#157621: exported with the example's batch."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.head = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8 * 8 * 8, 4)

    def forward(self, image):
        x = F.relu(self.norm(self.first(image)))
        return self.head(F.max_pool2d(x + self.second(x), 2).reshape(image.shape[0], -1))


class Masked(nn.Module):
    """pytorch#148886: a mask built at the example's batch."""

    def forward(self, x):
        mask = torch.arange(x.shape[1]).expand(x.shape[0], -1) % 2 == 0
        return torch.where(mask, x, torch.zeros(x.shape[0], x.shape[1]))


class Embedded(nn.Module):
    """pytorch#70110: the last dimension becomes dynamic. Two inputs share a free length."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 40)

    def forward(self, ids, mask):
        return self.table(ids) * mask[..., None]


class Recurrent(nn.Module):
    """pytorch#45653: an LSTM without initial states runs at the exported batch only; onnxscript#2852: GRU numbers."""

    def __init__(self, kind):
        super().__init__()
        self.cell = kind(5, 6, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0]


class Repeated(nn.Module):
    """pytorch#61034, #111159: repeated indices add up."""

    def forward(self, x):
        at = torch.tensor([0, 2, 2, 0])
        added = torch.zeros(x.shape[0], 3, dtype=x.dtype).index_add(1, at, x)
        rows = torch.tensor([1, 1, 0, 1])
        return added, torch.zeros(2, dtype=x.dtype).index_put((rows,), x.sum(0), accumulate=True)


class Attention(nn.Module):
    """pytorch#159973: a fully masked row gives what eager torch gives."""

    def forward(self, x):
        mask = torch.tensor([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]).bool()
        return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


class Pooled(nn.Module):
    """pytorch#183528, #131272: ceil_mode with count_include_pad."""

    def forward(self, x):
        return F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=True)


class Adaptive(nn.Module):
    """pytorch#42653: an output size that does not divide the input's."""

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, 7)


class BatchStatistics(nn.Module):
    """pytorch#49229: no running statistics, so evaluation mode uses the batch's, and rows change each other."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4, track_running_stats=False)

    def forward(self, x):
        return self.norm(x)


class InTraining(nn.Module):
    """onnxruntime#26584, #4589: handed over in training mode, with dropout and batch normalisation."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Dropout(0.9), nn.Linear(16, 2))
        self.train()

    def forward(self, x):
        return self.layers(x)


class Doubles(nn.Module):
    """onnxruntime#2874, #19710: operators that the runtime lacks in float64. pytorch#118733: a scalar branch."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4).double()

    def forward(self, x):
        return torch.where(x > 0, torch.cos(self.norm(x)), 0.0)


class Unused(nn.Module):
    """pytorch#64480: an input that nothing reads."""

    def forward(self, x, spare):
        return x * 2


class Twice(nn.Module):
    """pytorch#66137: the same tensor returned twice."""

    def forward(self, x):
        y = torch.relu(x)
        return y, y


class Tied(nn.Module):
    """pytorch#108342: shared weights stored twice."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(500, 64), nn.Linear(64, 500, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        return self.head(self.table(ids))


class Typed(nn.Module):
    """Other dtypes in and out, none of them cast on the way."""

    def forward(self, flag, count, level):
        return ~flag, count + 1, level.half(), level > 0, (level * 10).to(torch.uint8)


class Spectrum(nn.Module):
    """pytorch#107677: complex numbers inside."""

    def forward(self, x):
        return torch.fft.fft(x).abs()


class NotTensors(nn.Module):
    def forward(self, x):
        return x, 3.5


class Branches(nn.Module):
    """pytorch#117655: control flow that depends on the batch."""

    def forward(self, x):
        return x * 2 if x.sum() > 0 else x - 1


class ByBatch(nn.Module):
    """pytorch#117655: torch.cond on the batch."""

    def forward(self, x):
        return torch.cond(x.shape[0] > 2, lambda rows: rows + 1, lambda rows: rows * 2, (x,))


class Windows(nn.Module):
    """pytorch#107677: a short-time Fourier transform, and complex numbers multiplied."""

    def forward(self, x):
        found = torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True, center=False)
        return torch.view_as_real(found), (found * found).abs()


class Rewritten(nn.Module):
    """Operators that no exporter of PyTorch 2.13 writes, one that it writes wrongly, and a size that does not divide."""

    def forward(self, x):
        pooled = nn.functional.adaptive_max_pool2d(x, (3, 2))
        grown = x[:, 0] @ x[:, 0].mT + torch.eye(5)
        place = (pooled.flatten(1).abs() * 2).long().clamp(max=3)
        means = torch.zeros(x.shape[0], 4).scatter_reduce(1, place, pooled.flatten(1), "mean")
        return pooled, torch.linalg.inv(grown), means, torch.cdist(x[:, 1], x[:, 2], p=1.0)


class Blocked(nn.Module):
    """Operators for which nobody knows a way."""

    def forward(self, x):
        first = torch.special.i0(x)
        return first + torch.igamma(x.abs() + 1, x.abs())


class Largest(nn.Module):
    """onnxruntime#10514: the largest of numbers among which there is none."""

    def forward(self, x):
        return torch.amax(x, 1)


class Baked(nn.Module):
    """A branch on the batch: whichever is traced is right for some batches alone."""

    def forward(self, x):
        mask = torch.zeros(2, x.shape[1], dtype=torch.bool)
        return torch.where(mask[: x.shape[0]] if x.shape[0] <= 2 else mask.repeat(16, 1)[: x.shape[0]], 0.0, x)


class Eats(nn.Module):
    def forward(self, x):
        kept = [torch.ones(64, 1024, 1024) for _ in range(64)]
        return x + kept[0][0, 0, 0]


class Bfloat(nn.Module):
    def forward(self, x):
        return x.to(torch.bfloat16)


class Fails(nn.Module):
    def forward(self, x):
        return x @ torch.zeros(99, 2)


class Sly(nn.Module):
    """Its second layer computes something else where it is exported."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(3, 8), nn.Tanh())
        self.second = Shifted(8, 8)
        self.third = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, x):
        return self.third(self.second(self.first(x)))


class Shifted(nn.Linear):
    def forward(self, x):
        exported = torch.onnx.is_in_onnx_export() or torch.compiler.is_compiling()
        return super().forward(x + (1 if exported else 0))


def lstm():
    return Recurrent(nn.LSTM)


def gru():
    return Recurrent(nn.GRU)


def unshuffle():
    """onnxscript#2891: the order of channels."""
    return nn.PixelUnshuffle(2)


def broken():
    raise ValueError("no such width")


def leaves():
    raise SystemExit(3)


def dies():
    os._exit(7)


def sleeps():
    Path("pid").write_text(str(os.getpid()))
    time.sleep(600)


def not_a_module():
    return 42
