"""A Kubernetes API server for tests: in memory, on loopback, with the controllers of a control plane and a scripted kubelet.

`server.ClusterDouble` is the server, `kubelet.ScriptedKubelet` moves its pods. Its truth is the contract suite beside it,
which runs on the double and, where a kubeconfig is given, on a real control plane.

Nothing is imported here: the fixtures of `testing` are loaded by every test run, and most runs need no cluster.
"""
