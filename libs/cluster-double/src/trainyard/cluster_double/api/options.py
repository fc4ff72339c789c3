"""What a request asks for beside its object: the options of writes, reads and deletions, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainyard.cluster_double.core.errors import ApiError, Cause, bad_request
from trainyard.cluster_double.core.objects import Json

_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(slots=True)
class WriteOptions:
    manager: str = ""
    """Who is entered in managedFields; nobody when empty, as the double's own controllers do to save time."""
    dry_run: bool = False
    force: bool = False
    validation: str = "Warn"
    subresource: str = ""
    warnings: list[str] = field(default_factory=list)
    """What the answer warns of; filled while the request is carried out."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    labels: str = ""
    fields: str = ""
    limit: int = 0
    resume: str = ""
    """The continue token."""
    version: str = ""
    match: str = ""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    policy: str = ""
    grace: int | None = None
    uid: str = ""
    version: str = ""
    dry_run: bool = False


def write_options(query: Mapping[str, str], manager: str) -> WriteOptions:
    """Raises ApiError."""
    return WriteOptions(
        manager=query.get("fieldManager") or manager,
        dry_run=_dry_run(query.get("dryRun"), "CreateOptions"),
        force=query.get("force") in {"true", "1"},
        validation=query.get("fieldValidation") or "Warn",
    )


def list_options(query: Mapping[str, str]) -> ListOptions:
    """Raises ApiError."""
    options = ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=number(query.get("limit"), 0),
        resume=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
    )
    if options.match and not options.version:
        words = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise bad_options("ListOptions", Cause("resourceVersionMatch", words, "FieldValueForbidden"))
    return options


def delete_options(query: Mapping[str, str], body: Json) -> DeleteOptions:
    """The body wins over the query. Raises ApiError."""
    policy = str(body.get("propagationPolicy") or query.get("propagationPolicy") or "")
    if body.get("orphanDependents") or query.get("orphanDependents") == "true":
        policy = policy or "Orphan"
    if policy and policy not in _POLICIES:
        names = ", ".join(f'"{name}"' for name in (*_POLICIES, "nil"))
        words = f'Unsupported value: "{policy}": supported values: {names}'
        raise bad_options("DeleteOptions", Cause("propagationPolicy", words, "FieldValueNotSupported"))
    grace = body.get("gracePeriodSeconds")
    if grace is None and "gracePeriodSeconds" in query:
        grace = number(query["gracePeriodSeconds"], 0)
    conditions: Json = body.get("preconditions") or {}
    dry = body.get("dryRun")
    return DeleteOptions(
        policy=policy,
        grace=grace,
        uid=str(conditions.get("uid") or ""),
        version=str(conditions.get("resourceVersion") or ""),
        dry_run=_dry_run(dry[0] if dry else query.get("dryRun"), "DeleteOptions"),
    )


def number(text: str | None, otherwise: int) -> int:
    """Raises ApiError."""
    if not text:
        return otherwise
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _dry_run(value: str | None, kind: str) -> bool:
    if not value:
        return False
    if value != "All":
        words = f'Unsupported value: ["{value}"]: supported values: "All"'
        raise bad_options(kind, Cause("dryRun", words, "FieldValueNotSupported"))
    return True


def bad_options(kind: str, cause: Cause) -> ApiError:
    """422 about the request's options, which are a kind of their own (`CreateOptions.meta.k8s.io`)."""
    details: Json = {
        "group": "meta.k8s.io",
        "kind": kind,
        "causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field}],
    }
    return ApiError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {cause.field}: {cause.message}', details)
