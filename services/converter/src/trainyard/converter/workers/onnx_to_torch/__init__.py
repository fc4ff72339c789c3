"""ONNX to readable PyTorch: a folder with model.py, operators.py and model.safetensors that needs neither onnx nor us.

`write.main` is what a worker runs; `normalise` brings a model to one recent opset, `emit` writes its graph as Python,
`library` picks out of `operators/` the functions that the graph calls.
"""
