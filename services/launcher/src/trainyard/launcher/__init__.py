"""Starts jobs and watches them to their end."""
