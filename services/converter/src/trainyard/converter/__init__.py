"""Any model to ONNX and Triton, proven equal."""
