"""The formats of a patch, and who owns which field."""
