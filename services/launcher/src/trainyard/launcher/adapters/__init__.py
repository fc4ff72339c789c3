"""Backends, and what keeps the list of active jobs."""
