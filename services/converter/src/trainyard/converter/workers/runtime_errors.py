"""What onnxruntime and ONNX say of a model that they refuse, in words for its user."""

import re

_NOISE = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : \w+ : |Load model from .*? failed:|Exception during initialization: "
    r"|/onnxruntime_src/\S+ .*?\([^()]*\) |This is an invalid model\. (?:Error: )?"
)


def told(error: Exception) -> str:
    """The runtime's reason, without its codes, its places in its own source, and the path that the user knows."""
    return " ".join(_NOISE.sub("", str(error).strip()).split("\n")[0].split())[:400]
