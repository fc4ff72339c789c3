"""The runner: what starts a replica's processes inside of a pod and tells the launcher how they fare.

`python -m trainyard.worker.pod` is the command of the pod's container. The package comes as a zip from a ConfigMap: an image
needs a Python of 3.8 or newer and nothing of ours. The launcher's side is its `core/manifests` (plans) and `core/cluster`
(lines and ends).
"""
