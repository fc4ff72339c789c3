"""Defaults and faults of the built-in kinds."""
