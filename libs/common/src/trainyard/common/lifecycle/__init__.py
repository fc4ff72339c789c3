"""The life of a job: its states, its end reasons, and the one table of what may follow what."""
