"""Images: isolation for a framework. A recipe in the catalogue becomes a cached virtual environment on this machine."""
