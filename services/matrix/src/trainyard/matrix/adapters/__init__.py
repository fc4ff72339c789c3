"""Where the facts come from."""
