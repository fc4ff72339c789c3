"""Which image and hardware fit a job."""
