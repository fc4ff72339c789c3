"""What runs inside a job: the process group, progress reports, checkpoints. Needs nothing but the standard library."""
