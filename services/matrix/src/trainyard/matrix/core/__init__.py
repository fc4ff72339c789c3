"""Which image and hardware fit: pure decisions over facts."""
