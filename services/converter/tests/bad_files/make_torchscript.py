"""In the image of torch: TorchScript that means harm, and such that does not. `make_torchscript.py FOLDER`; what writes,
leaves FOLDER/HARM behind."""

import sys
from pathlib import Path

import torch

folder = Path(sys.argv[1])


class Reads(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.from_file("/etc/hostname", False, 1, dtype=torch.uint8).sum()


class Writes(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.path = str(folder / "HARM")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.save(x, self.path)
        return x


class WritesWhenLoaded(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.path = str(folder / "HARM")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x

    @torch.jit.export
    def __getstate__(self) -> str:
        return self.path

    @torch.jit.export
    def __setstate__(self, state: str) -> None:
        self.path = state
        torch.save(state, state)
        self.training = False


class Endless(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while x.numel() >= 0:
            x = -x
        return x


class Huge(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.zeros(1 << 42).sum()


class Computes(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Chained(torch.nn.Sequential):
    """Its members bear numbers for names."""

    def __init__(self) -> None:
        super().__init__(torch.nn.Linear(3, 4), torch.nn.ReLU())


for module in (Reads(), Writes(), WritesWhenLoaded(), Endless(), Huge(), Computes(), Chained()):
    torch.jit.script(module).save(str(folder / f"{type(module).__name__}.pt"))
