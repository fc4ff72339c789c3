"""The same pictures through the PyTorch module that the converter wrote: `python look.py FOLDER/torch`

Wants torch and safetensors, no tensorflow. Ends with 1 where the five likeliest classes of a picture are not those of Keras.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, sys.argv[1])
import model

net = model.load()
expected = json.loads(Path("expected.json").read_text())
wrong = 0
with np.load("pictures.npz") as pictures, torch.inference_mode():
    for name, classes in expected.items():
        (answer,) = net(torch.from_numpy(pictures[name][None]))
        found = answer[0].argsort(descending=True)[:5].tolist()
        wrong += found != classes
        print(f"{name}: {found}, Keras {classes}")
sys.exit(1 if wrong else 0)
