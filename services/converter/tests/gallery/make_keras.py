"""In the environment `tensorflow`: one net of keras.applications with random weights. `make_keras.py NAME SIDE FILE`

As in `make_torch.py`, running statistics are measured on many rows, so that the answer depends on what is asked. A net
without any has weights that keep the signal as it is: with Glorot's, ReLU halves it in every layer.
"""

import sys

import keras
import numpy

name, side, file = sys.argv[1:]
keras.utils.set_random_seed(0)
options = {
    "MobileNetV2": {"alpha": 0.35},
    "MobileNet": {"alpha": 0.25},
    "VGG16": {"include_top": False, "pooling": "avg"},
}
plain = {"weights": None, "input_shape": (int(side), int(side), 3), "classes": 10, "classifier_activation": None}
net = getattr(keras.applications, name)(**plain, **options.get(name, {}))
x = numpy.random.default_rng(0).standard_normal((32, int(side), int(side), 3)).astype("float32")
layers = list(net._flatten_layers())
normalisations = [layer for layer in layers if "Normalization" in type(layer).__name__]
for layer in normalisations:
    if isinstance(layer, keras.layers.BatchNormalization):
        layer.momentum = 0.0
for layer in layers if not normalisations else ():
    if hasattr(layer, "kernel"):
        layer.kernel.assign(layer.kernel * 2**0.5)
net(x, training=True)
found = numpy.asarray(net(x, training=False))
assert numpy.isfinite(found).all(), f"{name} gives numbers that are not finite"
assert (found - found.mean(0)).std() > 1e-3, f"{name} answers the same whatever it is given"
net.save(file)
