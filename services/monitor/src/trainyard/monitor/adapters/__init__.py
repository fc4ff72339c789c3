"""What the monitor reads and shows: psutil, HTTP."""
