"""In the image `gallery`: random weights of one architecture, as a job would leave them. `make_torch.py NAME SAMPLES FILE`

A fresh net often says nothing: heads and whole branches begin at zero or at 1e-6, and running statistics that nobody has
measured let a signal fade. An error there would pass unseen, so what is constant becomes random, and the statistics are
measured: on many rows, for those of a few blow up what differs from them.
"""

import sys
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).parent))
import architectures

ROWS = 64


def like(samples):
    """Rows like them, and rows that are spread over their range."""
    shape = (ROWS // 2, *samples.shape[1:])
    if not samples.is_floating_point():
        return torch.randint(0, int(samples.max()) + 1, shape)
    spread = torch.empty(shape).uniform_(samples.min(), samples.max())
    return torch.cat([torch.randn(shape), spread])


name, samples, file = sys.argv[1:]
torch.manual_seed(0)
net = getattr(architectures, name)().eval()
x = torch.from_numpy(numpy.load(samples)["x"])
for parameter in net.parameters():
    values = parameter.data
    if values.numel() > 1 and (values == values.flatten()[0]).all():
        if values.flatten()[0] == 0:
            values.normal_(0, 0.05)
        else:
            values.uniform_(0.5, 1.5)
for module in net.modules():
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        module.momentum = None  # the plain mean of what is seen
        module.train()
with torch.no_grad():
    net(like(x))
    found = net.eval()(x)
    first = found[0] if isinstance(found, tuple) else found
assert first.isfinite().all(), f"{name} gives numbers that are not finite"
assert (first - first.mean(0)).std() > 1e-3, f"{name} answers the same whatever it is given"
torch.save(net.state_dict(), file)
