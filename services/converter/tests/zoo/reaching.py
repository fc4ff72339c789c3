"""TorchScript that reaches files, and such that does not. `reaching.py FOLDER`"""

import sys
from pathlib import Path

import torch

folder = Path(sys.argv[1])


class Reads(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.from_file("/etc/hostname", False, 1, dtype=torch.uint8).sum()


class Writes(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.save(x, "WRITTEN")
        return x


class Computes(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


for module in (Reads(), Writes(), Computes()):
    torch.jit.script(module).save(str(folder / f"{type(module).__name__}.pt"))
