"""In the torch image: the weights of a factory as a job would leave them. `prepare.py MODELS_FOLDER TARGET NAME…`"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, sys.argv[1])
import models

for name in sys.argv[3:]:
    torch.manual_seed(1)
    torch.save(getattr(models, name)().state_dict(), Path(sys.argv[2]) / f"{name}.pt")
