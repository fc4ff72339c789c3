"""The event log and the commands, behind small ports; one implementation on NATS and one in memory."""
