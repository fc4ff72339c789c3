"""Graphs of TensorFlow before they are loaded: whether they reach files or code."""

import os

from trainyard.converter.workers.frame import Fault, first_line

HARMFUL = {
    "ReadFile", "WriteFile", "MatchingFiles", "WholeFileReader", "WholeFileReaderV2", "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2", "TextLineDataset", "TFRecordDataset", "TFRecordDatasetV2", "PrintV2", "Save", "SaveSlices",
    "PyFunc", "PyFuncStateless", "EagerPyFunc", "DebugIdentity", "DebugIdentityV2", "DebugNumericSummary",
}  # fmt: skip
"""Operators that reach files or Python. SaveV2 is not among them: every SavedModel has it, for saving once more."""


def graphs_of(folder):
    """Of a SavedModel, without loading it, as they are asked for."""
    from tensorflow.core.protobuf import saved_model_pb2

    found = saved_model_pb2.SavedModel()
    try:
        with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
            found.ParseFromString(file.read())
    except Exception as error:
        raise Fault("model", f"{folder} cannot be read as a SavedModel: {first_line(error)}")
    yield from (meta.graph_def for meta in found.meta_graphs)


def harmless(request, graphs):
    """Refuses graphs that reach files, unless they are trusted, which are not even read for it: the sandbox keeps no file
    from them."""
    if request["trust"]:
        return
    for graph in graphs:
        inner = [node for function in graph.library.function for node in function.node_def]
        for node in [*graph.node, *inner]:
            if node.op in HARMFUL:
                words = f"node {node.name!r} ({node.op}) reaches files or code; convert.trust lets it"
                raise Fault("model", f"{os.path.basename(request['weights'])}: {words}")
