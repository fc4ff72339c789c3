"""One torch function an ONNX operator, by its name. The ones that a model calls are copied beside it,
so they need torch alone.

A function that gives several outputs says so by its return annotation; `outputs` is how many the node declares.
"""
