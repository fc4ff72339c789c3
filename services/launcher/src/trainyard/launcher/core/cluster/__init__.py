"""What a cluster says of a job's pods, read into what the launcher decides from. Pure."""
