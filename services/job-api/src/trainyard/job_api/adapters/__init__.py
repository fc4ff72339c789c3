"""What the gateway touches: SQLite, files, HTTP."""
