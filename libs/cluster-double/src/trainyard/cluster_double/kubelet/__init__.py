"""A kubelet that runs no containers: it moves pods as a script says. A client of the API, so it works on any cluster."""

from trainyard.cluster_double.kubelet.kubelet import ScriptedKubelet
from trainyard.cluster_double.kubelet.nodes import NodeSpec
from trainyard.cluster_double.kubelet.script import Line, Script, bad_image, forever, out_of_memory, pushed_out, run

__all__ = [
    "Line",
    "NodeSpec",
    "Script",
    "ScriptedKubelet",
    "bad_image",
    "forever",
    "out_of_memory",
    "pushed_out",
    "run",
]
