"""In the environment `tensorflow`: models as people save them. `make_tensorflow.py FOLDER`"""

import sys
from pathlib import Path

import keras
import tensorflow as tf
from keras import layers
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

folder = Path(sys.argv[1])
keras.utils.set_random_seed(0)

image = keras.Input((16, 16, 3), name="image")
hidden = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same", activation="relu")(image))
hidden = layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(hidden))
classes, score = layers.Dense(4, activation="softmax", name="classes")(hidden), layers.Dense(1, name="score")(hidden)
two = keras.Model(image, [classes, score])
two.save(folder / "two.keras")
two.save(folder / "two.h5")
two.export(folder / "two_saved", verbose=False)
frozen = tf.function(two.call).get_concrete_function(tf.TensorSpec([None, 16, 16, 3], name="image"))
graph = convert_variables_to_constants_v2(frozen).graph.as_graph_def()
tf.io.write_graph(graph, str(folder), "two.pb", as_text=False)
(folder / "two.tflite").write_bytes(tf.lite.TFLiteConverter.from_keras_model(two).convert())

steps = keras.Input((5, 4))
recurrent = layers.Dense(2)(layers.GRU(3)(layers.LSTM(6, return_sequences=True)(steps)))
keras.Model(steps, recurrent).save(folder / "recurrent.keras")
sizes = [keras.Input((None, None, 3)), layers.Conv2D(4, 3, padding="same")]
keras.Sequential([*sizes, layers.Conv2DTranspose(2, 3, strides=2, padding="same")]).save(folder / "any_size.keras")
scaled = [keras.Input((4,)), layers.Normalization(mean=[1.0, 2.0, 3.0, 4.0], variance=[0.5, 1.0, 2.0, 4.0])]
keras.Sequential([*scaled, layers.Dense(2)]).save(folder / "scaled.keras")
groups = [keras.Input((8, 8, 6)), layers.Conv2D(12, 3, groups=3, activation="gelu"), layers.Conv2D(12, 3, groups=12)]
keras.Sequential(groups).save(folder / "grouped.keras")
words = [keras.Input((6,), dtype="int32"), layers.Embedding(20, 8, mask_zero=True), layers.LSTM(4)]
keras.Sequential(words).save(folder / "masked.keras")
coded = keras.Sequential([keras.Input((3,)), layers.Lambda(lambda x: x * 2)])
coded.save(folder / "coded.keras")
coded.save(folder / "coded.h5")


class Lookup(tf.Module):
    def __init__(self):
        initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
        self.table = tf.lookup.StaticHashTable(initializer, -1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def look(self, words):
        return {"ids": self.table.lookup(words)}


lookup = Lookup()
tf.saved_model.save(lookup, str(folder / "lookup"), signatures=lookup.look)


class Reader(tf.Module):
    """What it gives is what stands in a file of the machine that runs it."""

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="x")])
    def read(self, x):
        return {"y": x + tf.cast(tf.strings.length(tf.io.read_file("/etc/hostname")), tf.float32)}


reader = Reader()
tf.saved_model.save(reader, str(folder / "reader"), signatures=reader.read)
graph = convert_variables_to_constants_v2(reader.read.get_concrete_function()).graph.as_graph_def()
tf.io.write_graph(graph, str(folder), "reader.pb", as_text=False)


class Counting(tf.Module):
    """It adds up what it has been asked, as nets that listen to a stream do."""

    def __init__(self):
        self.total = tf.Variable(tf.zeros([1, 3]))

    @tf.function(input_signature=[tf.TensorSpec([1, 3], name="x")])
    def add(self, x):
        return self.total.assign_add(x)


counting = Counting()
converter = tf.lite.TFLiteConverter.from_concrete_functions([counting.add.get_concrete_function()], counting)
converter.experimental_enable_resource_variables = True
(folder / "counting.tflite").write_bytes(converter.convert())
