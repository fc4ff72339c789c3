"""Logs of ranks as files: written by whoever supervises the process, read by the gateway."""
