"""The folders that jobs bring along: made into archives, checked, kept."""
