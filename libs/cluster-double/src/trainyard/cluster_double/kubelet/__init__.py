"""A kubelet that runs no containers: it moves pods as a script says. A client of the API, so it works on any cluster."""
