"""One module a framework: `join(backend, timeout)` makes the Process, `describe(process)` adds words to what is printed."""
