"""The SDK and the `yard` command."""
