"""Decisions of the converter: what to try, what counts as equal, what Triton accepts. Numbers, no I/O."""
