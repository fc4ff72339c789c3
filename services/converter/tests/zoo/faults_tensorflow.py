"""In the environment `tensorflow`: models that other converters got wrong. `faults_tensorflow.py FOLDER`"""

import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

folder = Path(sys.argv[1])
keras.utils.set_random_seed(0)
random = np.random.default_rng(0)

# tensorflow-onnx#1112, onnxruntime#6067: pictures of any size. What Keras gives at three of them lies beside the model.
sized = keras.Sequential(
    [
        keras.Input((None, None, 3), name="image"),
        layers.Conv2D(4, 3, strides=2, padding="same"),
        layers.Conv2DTranspose(2, 3, strides=2, padding="same"),
    ]
)
sized.save(folder / "sized.keras")
pictures = {
    f"in{at}": random.normal(size=(2, *size, 3)).astype("float32") for at, size in enumerate([(5, 9), (8, 4), (13, 7)])
}
answers = {f"out{name[2:]}": np.asarray(sized(picture)) for name, picture in pictures.items()}
np.savez(folder / "sized.npz", **pictures, **answers)

# tensorflow-onnx#1871: words that are padded before and behind.
words = keras.Sequential(
    [keras.Input((6,), dtype="int32", name="words"), layers.Embedding(20, 8, mask_zero=True), layers.LSTM(4)]
)
words.save(folder / "masked.keras")
padded = [[0, 0, 0, 3, 9, 4], [7, 2, 0, 0, 0, 0], [0, 5, 0, 6, 0, 0], [0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6]]
np.savez(folder / "masked.npz", words=np.array(padded, "int32"))

# MMdnn#595, #379, #628, onnx2tf#478: flattened after NHWC, padding to the same size, axes of equal length.
picture = keras.Input((9, 7, 3), name="image")
hidden = layers.Conv2D(4, 3, strides=2, padding="same", activation="relu")(picture)
hidden = layers.AveragePooling2D(3, strides=2, padding="same")(hidden)
keras.Model(picture, layers.Dense(5)(layers.Flatten()(hidden))).save(folder / "flat.keras")
keras.Sequential([keras.Input((20, 20, 20), name="cube"), layers.Conv2D(20, 3)]).save(folder / "cube.keras")


class Subclassed(keras.Model):
    """tensorflow-onnx#2348."""

    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(8, activation="relu"), layers.Dense(2)

    def call(self, x):
        return self.second(self.first(x))


subclassed = Subclassed()
subclassed(np.zeros((1, 3), "float32"))
subclassed.export(folder / "subclassed", verbose=False)


def saved(name, function, *shape):
    module = tf.Module()
    module.run = tf.function(function, input_signature=[tf.TensorSpec([None, *shape], name="x")])
    tf.saved_model.save(module, str(folder / name), signatures=module.run)
    return module


def largest(x):  # tensorflow-onnx#1449
    most, place = tf.nn.max_pool_with_argmax(x, 2, 2, "SAME")
    return {"most": most, "place": place}


def listed(x):  # tensorflow-onnx#2107: what is left of a list of tensors
    found = tf.raw_ops.TensorListReserve(element_shape=[3], num_elements=2, element_dtype=tf.float32)
    found = tf.raw_ops.TensorListSetItem(input_handle=found, index=0, item=x[0])
    found = tf.raw_ops.TensorListSetItem(input_handle=found, index=1, item=x[0] * 2)
    return {
        "y": x + tf.raw_ops.TensorListGetItem(input_handle=found, index=1, element_shape=[3], element_dtype=tf.float32)
    }


saved("largest", largest, 6, 4, 3)
saved("listed", listed, 3)
saved("singular", lambda x: {"y": tf.linalg.svd(x, compute_uv=False)}, 3, 3)


class Table(tf.Module):
    """tensorflow-onnx#2100: a table of words, of which only numbers are seen from without."""

    def __init__(self):
        initializer = tf.lookup.KeyValueTensorInitializer(["1", "2"], tf.constant([5.0, 6.0]))
        self.table = tf.lookup.StaticHashTable(initializer, -1.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="x")])
    def look(self, x):
        return {"y": self.table.lookup(tf.strings.as_string(x))}


table = Table()
tf.saved_model.save(table, str(folder / "table"), signatures=table.look)
