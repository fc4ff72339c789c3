"""What the converter touches: the worker in the image, onnxruntime, Triton, files, pages."""
