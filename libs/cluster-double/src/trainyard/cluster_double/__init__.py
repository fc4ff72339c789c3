"""A Kubernetes API server for tests: in memory, on loopback, with the controllers of a control plane and a scripted kubelet.

`ClusterDouble` is the server, `Settings` what tests turn. Its truth is the contract suite beside it, which runs on the
double and, where a kubeconfig is given, on a real control plane.
"""

from trainyard.cluster_double.api.cluster import Settings
from trainyard.cluster_double.server import ClusterDouble

__all__ = ["ClusterDouble", "Settings"]
