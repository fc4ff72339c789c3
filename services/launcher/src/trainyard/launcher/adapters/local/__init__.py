"""The local backend: processes on this machine, each under a supervisor that outlives the launcher."""
