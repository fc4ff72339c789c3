"""The API over HTTP, and what tests do to it: faults and a journal."""
