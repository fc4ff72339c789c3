"""Where pods may go."""
