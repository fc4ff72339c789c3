"""In the environment `torch`: one network as each of the files that PyTorch leaves behind. `make_torch.py FOLDER`"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parent))
import models

folder = Path(sys.argv[1])
torch.manual_seed(0)
net, x = models.Residual().eval(), torch.randn(2, 3, 16, 16)
torch.save(net.state_dict(), folder / "residual.pt")
save_file(net.state_dict(), folder / "residual.safetensors")
torch.jit.trace(net, x).save(folder / "residual_script.pt")
batch = torch.export.Dim("batch", min=1)
torch.export.save(torch.export.export(net, (x,), dynamic_shapes=({0: batch},)), folder / "residual.pt2")
