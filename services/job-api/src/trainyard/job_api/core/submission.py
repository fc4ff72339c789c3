"""From a document to the event that makes it a job. Pure: whether the folder exists is asked elsewhere."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from trainyard.common import ids
from trainyard.common.contract.conversions import ConversionSpec
from trainyard.common.contract.events import ConversionRequested, JobSubmitted
from trainyard.common.contract.explain import validate
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.model import Spec
from trainyard.common.errors import InvalidInput

MAX_KEY = 200


def job(document: Any, *, owner: str, key: str | None, retry_of: str | None = None) -> JobSubmitted:
    """The `submitted` event of a job file. With a key the id is derived from it, so the same request finds the same
    job again; without one it is new. Raises InvalidInput."""
    spec = validate(JobSpec, document)
    return JobSubmitted(
        job_id=_identity("job", owner, key) or ids.new_job_id(),
        spec=spec,
        owner=owner,
        retry_of=retry_of,
        spec_digest=digest(spec),
    )


def conversion(document: Any, *, owner: str, key: str | None) -> ConversionRequested:
    """The `requested` event of a conversion on its own."""
    spec = validate(ConversionSpec, document)
    return ConversionRequested(
        conversion_id=_identity("conversion", owner, key) or ids.new_conversion_id(),
        spec=spec,
        owner=owner,
        spec_digest=digest(spec),
    )


def digest(spec: Spec) -> str:
    """SHA-256 of the spec with every default spelt out and keys in order."""
    canonical = json.dumps(spec.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _identity(entity: str, owner: str, key: str | None) -> str | None:
    if key is None:
        return None
    if not key.strip() or len(key) > MAX_KEY or not key.isprintable():
        raise InvalidInput.one("not usable as a key", "Idempotency-Key", f"1 to {MAX_KEY} printable characters")
    return ids.keyed(entity, owner, key)
