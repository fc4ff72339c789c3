"""The version of the whole product: its packages are released together."""

VERSION = "0.1.0"
