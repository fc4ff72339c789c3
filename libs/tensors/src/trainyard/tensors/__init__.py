"""Tensors from one framework to another, without a copy where that is possible, and told where it is not.

convert_framework_tensor(x, to="torch")
"""

from trainyard.tensors.converting import Explanation, convert_framework_tensor
from trainyard.tensors.errors import CannotShare, TensorError

__all__ = ["CannotShare", "Explanation", "TensorError", "convert_framework_tensor"]
