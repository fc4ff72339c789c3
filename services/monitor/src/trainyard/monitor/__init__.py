"""Whose accelerators do what."""
