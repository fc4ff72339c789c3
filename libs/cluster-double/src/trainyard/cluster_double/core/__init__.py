"""Pure parts: no I/O, no event loop."""
