"""Folders that jobs bring along: archives by their digest, in the bucket `trainyard-sources`, sent before the job.

A key is the digest's hexadecimal part; the value is a zip. What no job was submitted with for a month is gone.
"""

from __future__ import annotations

BUCKET = "trainyard-sources"
MAX_AGE = 30 * 86_400.0
"""Seconds since an archive was sent, or a job submitted with it, after which it is gone."""
MOST = 900_000
"""Bytes of an archive: it has to fit into one message (1 MiB) and into one ConfigMap (1 MiB)."""
MOST_UNPACKED = 64 * 2**20
"""Bytes of its files together."""
MOST_FILES = 10_000
IN_IMAGE = "image"
SOURCE = r"^(sha256:[0-9a-f]{64}|image)$"
