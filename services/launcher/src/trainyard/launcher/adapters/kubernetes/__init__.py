"""The launcher's backend for Kubernetes. `kubernetes.aio` is imported here and nowhere else."""
