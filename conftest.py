"""Fixtures that every test may use."""

pytest_plugins = [
    "trainyard.common.testing.fixtures",
    "trainyard.common.testing.nats_container",
    "trainyard.cluster_double.testing.fixtures",
]
