"""Decisions of the launcher: plans of attempts, admission, what follows from what was seen. No I/O."""
