"""The SDK and the `yard` command."""

from trainyard.client.sdk import AsyncYard, Yard

__all__ = ["AsyncYard", "Yard"]
