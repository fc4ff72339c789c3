"""GET: one object, or a list at a known revision, in pages when asked for."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import ListOptions, bad_options
from trainyard.cluster_double.core.errors import ApiError, Cause, bad_request, expired
from trainyard.cluster_double.core.objects import Json, labels_of, name_of, namespace_of
from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.core.selectors import (
    BadSelector,
    FieldSelector,
    LabelSelector,
    parse_fields,
    parse_labels,
)

EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing "
    "with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the "
    "time the first chunk was returned and now may show up in the list."
)
TOO_LARGE = "Too large resource version"


@dataclass(frozen=True, slots=True)
class Selection:
    labels: LabelSelector
    fields: FieldSelector

    def matches(self, obj: Json) -> bool:
        return self.labels.matches(labels_of(obj)) and self.fields.matches(obj)


@dataclass(frozen=True, slots=True)
class Page:
    items: list[Json]
    revision: int
    resume: str = ""
    remaining: int | None = None


def selection(resource: Resource, options: ListOptions) -> Selection:
    """Raises ApiError."""
    try:
        return Selection(parse_labels(options.labels), parse_fields(options.fields, resource))
    except BadSelector as fault:
        raise bad_request(str(fault)) from None


def read_list(cluster: Cluster, resource: Resource, namespace: str, options: ListOptions) -> Page:
    """Raises ApiError."""
    chosen = selection(resource, options)
    revision, start = _where(cluster, options)
    found = _entries(cluster, resource, namespace, chosen, revision)
    if found is None:
        raise (
            _gone(cluster, start)
            if options.resume
            else expired("The resourceVersion for the provided list is too old.")
        )
    matches = chosen.matches
    items = [obj for obj in found if matches(obj)]
    now = cluster.store.revision if revision is None else revision
    if start:
        items = [obj for obj in items if _key(obj) >= start]
    # A list "as old as you like" (version 0) is served whole, from the cache of a real server.
    if not options.limit or len(items) <= options.limit or (options.version == "0" and not options.match):
        return Page(items, now)
    page = items[: options.limit]
    remaining = len(items) - len(page)
    counted = None if options.labels or options.fields else remaining
    return Page(page, now, _token(now, _key(page[-1]) + "\0"), counted)


def version_number(text: str) -> int:
    """Raises ApiError."""
    if not text.isdecimal():
        why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: {why}")
    return int(text)


def too_large(cluster: Cluster, version: int) -> ApiError:
    said = f"Timeout: {TOO_LARGE}: {version}, current: {cluster.store.revision}"
    details: Json = {"causes": [{"reason": "ResourceVersionTooLarge", "message": TOO_LARGE}], "retryAfterSeconds": 1}
    return ApiError(504, "Timeout", said, details, {"Retry-After": "1"})


def _entries(
    cluster: Cluster, resource: Resource, namespace: str, chosen: Selection, revision: int | None
) -> list[Json] | None:
    if revision is not None:
        return cluster.store.entries_at(resource.storage, namespace, revision)
    return cluster.store.entries(resource.storage, namespace, chosen.labels.exact())


def _where(cluster: Cluster, options: ListOptions) -> tuple[int | None, str]:
    """(the past revision to read at, the key to start from)."""
    if options.resume:
        if options.version not in {"", "0"}:
            raise bad_request("specifying resource version is not allowed when using continue")
        revision, start = _parsed(options.resume)
        return (None if revision < 0 else revision), start
    if options.version:
        version = version_number(options.version)
        if version > cluster.store.revision:
            raise too_large(cluster, version)
        if options.match == "Exact":
            if version == 0:
                words = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                raise bad_options("ListOptions", Cause("resourceVersionMatch", words, "FieldValueForbidden"))
            return version, ""
    return None, ""


def _key(obj: Json) -> str:
    return f"{namespace_of(obj)}/{name_of(obj)}"


def _token(revision: int, start: str) -> str:
    document = {"v": "meta.k8s.io/v1", "rv": revision, "start": start}
    return base64.urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).decode().rstrip("=")


def _parsed(token: str) -> tuple[int, str]:
    try:
        document = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(document["rv"]), str(document["start"])
    except (ValueError, KeyError, TypeError, binascii.Error):
        raise bad_request("invalid continue token: continue key is not valid") from None


def _gone(cluster: Cluster, start: str) -> ApiError:
    fault = expired(EXPIRED)
    fault.resume = _token(-1, start)
    return fault
