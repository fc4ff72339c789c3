"""In the environment `tensorflow`: graphs that reach files. `make_tensorflow.py FOLDER`; what writes, leaves FOLDER/HARM."""

import sys
from pathlib import Path

import tensorflow as tf

folder = Path(sys.argv[1])
HARM = str(folder / "HARM")
(folder / "words").write_text("a\nb\n")
GIVEN = [tf.TensorSpec([None, 3], name="x")]


class Net(tf.Module):
    """y = x · v, after the model has done its harm."""

    def __init__(self, harm):
        self.v = tf.Variable(2.0)
        self.harm = harm

    @tf.function(input_signature=GIVEN)
    def call(self, x):
        with tf.control_dependencies([self.harm(x)]):
            return {"y": x * self.v}


class Starts(Net):
    """A resource of the model's own, whose initialiser runs while the model is loaded."""

    def __init__(self, harm):
        super().__init__(tf.identity)
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1], [2]), 0)
        initializer = self.table._initializer
        whole = initializer.initialize

        def initialize(table):
            with tf.control_dependencies([harm(tf.constant(1.0))]):
                return whole(table)

        initializer.initialize = initialize


def writes(x):
    return tf.io.write_file(HARM, tf.strings.as_string(tf.reduce_sum(x)))


def saves(x):
    return tf.raw_ops.SaveV2(prefix=HARM, tensor_names=["x"], shape_and_slices=[""], tensors=[x])


def restores(x):
    return tf.raw_ops.RestoreV2(prefix=HARM, tensor_names=["x"], shape_and_slices=[""], dtypes=[tf.float32])[0]


def reads_a_dataset(x):
    return tf.data.TextLineDataset("/etc/passwd").reduce(tf.constant(0), lambda count, line: count + 1)


def maps_a_file(x):
    return tf.raw_ops.ImmutableConst(dtype=tf.uint8, shape=[1], memory_region_name="/etc/passwd")


def nested(x):
    """Deep in functions that call one another."""
    inner = tf.function(lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: fewer(x), lambda: x))
    fewer = tf.function(lambda x: (saves(x), x)[1])
    return tf.while_loop(lambda at, x: at < 1, lambda at, x: (at + 1, inner(x)), [0, x])[1]


def looks_up(x):
    path = str(folder / "words")
    return tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        ),
        -1,
    )


harms = {"writes": writes, "saves": saves, "restores": restores, "reads": reads_a_dataset, "maps": maps_a_file}
for name, harm in {**harms, "nested": nested, "honest": tf.identity}.items():
    net = Net(harm)
    tf.saved_model.save(net, str(folder / name), signatures=net.call)
    with tf.Graph().as_default() as graph:  # as it stands: what freezes graphs leaves out what nothing needs
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        with tf.control_dependencies([harm(x)]):
            tf.identity(x * 2.0, name="y")
    tf.io.write_graph(graph.as_graph_def(), str(folder), f"{name}.pb", as_text=False)
starts = Starts(saves)
tf.saved_model.save(starts, str(folder / "starts"), signatures=starts.call)
vocabulary = Net(tf.identity)
vocabulary.table = looks_up(None)
tf.saved_model.save(vocabulary, str(folder / "vocabulary"), signatures=vocabulary.call)

for name, harm in {"writes": writes, "saves": saves, "honest": tf.identity}.items():
    net = Net(harm)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([net.call.get_concrete_function()], net)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    converter.allow_custom_ops = True
    converter.target_spec.experimental_select_user_tf_ops = ["WriteFile", "SaveV2"]
    (folder / f"{name}.tflite").write_bytes(converter.convert())

with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
    v = tf.compat.v1.get_variable("v", initializer=tf.ones([3]))
    session.run(tf.compat.v1.global_variables_initializer())
    tf.compat.v1.saved_model.simple_save(session, str(folder / "first"), {"x": x}, {"y": x * v})
