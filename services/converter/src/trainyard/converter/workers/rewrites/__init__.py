"""What changes an ONNX model, each module with `answer(request, cases, folder)`: `model.onnx` in the folder."""
