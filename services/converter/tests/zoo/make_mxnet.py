"""In the environment `mxnet`: a network whose BatchNorm has a fixed scale of 1 but stores 3. `make_mxnet.py FOLDER`"""

import sys

import mxnet as mx
from mxnet.gluon import nn

mx.random.seed(0)
net = nn.HybridSequential()
net.add(
    nn.Conv2D(8, 3, padding=1, activation="relu"), nn.BatchNorm(scale=False), nn.MaxPool2D(2), nn.Flatten(), nn.Dense(4)
)
net.initialize(mx.init.Xavier())
net.hybridize()
net(mx.nd.ones((2, 3, 16, 16)))
for name, parameter in net.collect_params().items():
    if "gamma" in name:
        parameter.set_data(mx.nd.ones(parameter.shape) * 3)
net.export(f"{sys.argv[1]}/net", epoch=0)
