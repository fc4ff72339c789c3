"""What is asked of new objects: limits, priority, quotas."""
