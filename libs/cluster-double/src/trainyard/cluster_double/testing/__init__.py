"""For tests of what speaks to a cluster: a plain client, small manifests, and pytest fixtures."""
