"""What the monitor makes of events and samples, without I/O."""
