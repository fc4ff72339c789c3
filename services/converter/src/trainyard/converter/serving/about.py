"""What the server says of itself, over either protocol, and what it takes at most."""

from __future__ import annotations

from trainyard.common import version

NAME = "trainyard"
VERSION = version.VERSION
EXTENSIONS = ("model_repository", "model_configuration", "binary_tensor_data", "statistics", "classification")
REQUEST_BYTES = 256 * 2**20
"""Of one request, unpacked: a batch of 400 pictures in float32. A request is held in memory as a whole."""
