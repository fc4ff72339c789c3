"""PyTorch trains on what TensorFlow has prepared: each process reads its share of it where it lies."""

import torch
from torch import nn

from trainyard.tensors import convert_framework_tensor
from trainyard.worker import dataset, init_distributed, put_dataset, report

EPOCHS = 8
process = init_distributed()
torch.manual_seed(1)
layers = nn.Sequential(nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
model = nn.parallel.DistributedDataParallel(layers)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
batches = dataset("examples/digits/train").torch(batch=32, shuffle=True, seed=1)
for epoch in range(1, EPOCHS + 1):
    for batch in batches:  # every pass is an epoch in another order
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch["pixels"]), batch["label"].long())
        loss.backward()
        optimizer.step()
    if process.is_main:
        report(epoch=epoch, epochs=EPOCHS, loss=float(loss.detach()))
if process.is_main:
    weights = convert_framework_tensor(layers.state_dict(), to="numpy")  # the same memory
    put_dataset("examples/digits/weights", **{name.replace(".", "_"): value[None] for name, value in weights.items()})
