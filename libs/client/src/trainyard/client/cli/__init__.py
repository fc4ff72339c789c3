"""The `yard` command: one module for each group of commands, one for what they all print with."""
