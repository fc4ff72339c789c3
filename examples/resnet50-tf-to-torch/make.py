"""A Keras ResNet50, and its five likeliest classes for each picture, prepared as Keras prepares them.

    python make.py china.jpg flower.jpg [--weights none]

Wants tensorflow and Pillow. Writes resnet50.keras, pictures.npz (as a client would send them) and expected.json.
"""

import argparse
import json
from pathlib import Path

import keras
import numpy as np
from PIL import Image

SIDE = 224

parser = argparse.ArgumentParser()
parser.add_argument("pictures", nargs="+", type=Path)
parser.add_argument("--weights", default="imagenet", help="imagenet, which Keras downloads, or none: random ones")
options = parser.parse_args()

opened = {path.stem: Image.open(path).convert("RGB") for path in options.pictures}
resized = np.stack([np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR)) for picture in opened.values()])
prepared = keras.applications.resnet50.preprocess_input(resized.astype("float32"))

keras.utils.set_random_seed(0)
random = options.weights == "none"
image = keras.Input((SIDE, SIDE, 3), name="image")
weights = None if random else options.weights
net = keras.applications.ResNet50(weights=weights, input_tensor=image, classifier_activation=None)
if random:  # a fresh net says next to nothing: its normalisations have to see something first
    norms = [layer for layer in net.layers if isinstance(layer, keras.layers.BatchNormalization)]
    for norm in norms:
        norm.momentum = 0.0
    net(prepared, training=True)

answers = np.asarray(net(prepared, training=False))
best = np.argsort(-answers, axis=1)[:, :5]
net.save("resnet50.keras")
np.savez("pictures.npz", **{name: np.asarray(picture) for name, picture in opened.items()})
Path("expected.json").write_text(
    json.dumps({name: row.tolist() for name, row in zip(opened, best, strict=True)}, indent=1)
)
