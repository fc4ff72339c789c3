"""Objects, revisions and events, in memory."""
