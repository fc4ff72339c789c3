"""A small server for a Triton model repository: onnxruntime behind the Open Inference Protocol (v2), over HTTP and gRPC.

What a laptop uses where Triton is not installed; `tritonclient` cannot tell the difference.
"""
