"""What a job does next."""
