"""In the environment `mxnet`: a small honest network, for the tests to damage. `make_mxnet.py FOLDER`"""

import sys

import mxnet as mx

net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Dense(2, in_units=3))
net.initialize()
net.hybridize()
net(mx.nd.ones((2, 3)))
net.export(f"{sys.argv[1]}/net", epoch=0)
