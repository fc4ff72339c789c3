"""What writes a model in another format than ONNX, and reads it back from what was written.

Each module has
    write(request, folder)    from the ONNX model at request["onnx"] into the empty folder
    load(request, folder)     what was written, as a user would load it: an object with
        framework             what computes ("torch 2.13.0")
        note                  what else is worth telling of it ("loads in 12 ms"); may be left out
        compute(inputs)       arrays in the order of request["inputs"] → arrays in that of request["outputs"]
It runs in the environment of `core.targets`; faults are those of `workers.frame`.
"""
