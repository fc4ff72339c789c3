"""Projections of the event log: SQLite files that may be deleted at any time and are then built again."""
