"""The verbs of the API on one cluster: create, read, update, patch, delete."""
