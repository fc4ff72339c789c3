"""ResourceQuotas: a new object is charged to the quotas of its namespace, or refused with what it would have exceeded.

As in a real cluster the charge goes into the quota's status, and a controller recounts when objects end or go.
"""

from __future__ import annotations

from fractions import Fraction

from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.core import usage
from trainyard.cluster_double.core.errors import forbidden
from trainyard.cluster_double.core.objects import Json, name_of, namespace_of, spec_of, status_of, with_status
from trainyard.cluster_double.core.quantities import amount, written
from trainyard.cluster_double.core.resources import Resource

Amounts = dict[str, str]


def charge(cluster: Cluster, resource: Resource, obj: Json, *, dry_run: bool) -> None:
    """Raises ApiError."""
    quotas = cluster.store.entries("/resourcequotas", namespace_of(obj)) if resource.namespaced else []
    charges = [(quota, _after(resource, obj, quota)) for quota in quotas]
    for quota, used in charges:
        if used and not dry_run:
            new = {**(status_of(quota).get("used") or {}), **used}
            cluster.store.put("/resourcequotas", with_status(quota, {**status_of(quota), "used": new}))


def _after(resource: Resource, obj: Json, quota: Json) -> Amounts:
    """What the quota's counts become. Raises ApiError when that is more than it allows."""
    status = status_of(quota)
    hard: Amounts = status.get("hard") or {}
    before: Amounts = status.get("used") or {}
    if resource.storage == "/pods":
        silent = usage.missing(spec_of(obj), hard)
        if silent:
            said = "; ".join(f"{name} for: {','.join(containers)}" for name, containers in silent.items())
            raise forbidden(resource, name_of(obj), f"failed quota: {name_of(quota)}: must specify {said}")
    wanted = {name: value for name, value in usage.of_object(resource.storage, obj).items() if name in hard}
    after = {name: amount(before.get(name, "0")) + value for name, value in wanted.items()}
    over = sorted(name for name, value in after.items() if wanted[name] and value > amount(hard[name]))
    if over:
        raise forbidden(resource, name_of(obj), _exceeded(name_of(quota), over, wanted, before, hard))
    return {name: written(value, hard[name]) for name, value in after.items()}


def _exceeded(quota: str, over: list[str], wanted: dict[str, Fraction], used: Amounts, hard: Amounts) -> str:
    asked = ",".join(f"{name}={written(wanted[name], hard[name])}" for name in over)
    have = ",".join(f"{name}={used.get(name, '0')}" for name in over)
    most = ",".join(f"{name}={hard[name]}" for name in over)
    return f"exceeded quota: {quota}, requested: {asked}, used: {have}, limited: {most}"
