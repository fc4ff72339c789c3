"""The `kubernetes:` block of a job file: how the job's pods stand on a cluster.

The block is optional, and on one machine it is passed over: everything that a framework needs follows from the rest of the
job file. What is here is what a cluster's owner asks of people who use it: queues, tolerations, volumes, accounts.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trainyard.common.contract.model import (
    ABSOLUTE, DNS_SUBDOMAIN, LABEL_KEY, LABEL_VALUE, RESOURCE, Bytes, DnsLabel, Duration, Spec, Text,
)

Name = Annotated[str, Field(pattern=DNS_SUBDOMAIN, max_length=253)]
"""Of an object in the cluster."""
LabelKey = Annotated[str, Field(pattern=LABEL_KEY, max_length=317)]
LabelValue = Annotated[str, Field(pattern=LABEL_VALUE, max_length=63)]
Mount = Annotated[Text, Field(pattern=ABSOLUTE, max_length=4096)]


class Volume(Spec):
    """One of `claim`, `config_map`, `secret` or `empty`, mounted into every pod of the job."""

    mount: Mount
    """Where it is seen in the container."""
    claim: Name | None = None
    """A PersistentVolumeClaim; with several pods it must be ReadWriteMany or mounted read-only."""
    config_map: Name | None = None
    secret: Name | None = None
    empty: Bytes | None = None
    """An empty folder of at most this size, gone with the pod."""
    memory: bool = False
    """With `empty`: in memory, counted against the pod's memory."""
    sub_path: Annotated[Text, Field(pattern=r"^[^/].*$", max_length=4096)] | None = None
    read_only: bool = False

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        named = [name for name in ("claim", "config_map", "secret", "empty") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(f"say one of claim, config_map, secret or empty, not {' and '.join(named) or 'none of them'}")
        if self.memory and self.empty is None:
            raise ValueError("`memory` is for an `empty` volume")
        return self


class Toleration(Spec):
    key: LabelKey | None = None
    """Absent: every taint."""
    value: LabelValue | None = None
    """Absent: whatever the taint's value is."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    seconds: Annotated[int, Field(ge=0)] | None = None
    """How long a pod stays after a NoExecute taint was set."""

    @model_validator(mode="after")
    def _value_has_a_key(self) -> Self:
        if self.value is not None and self.key is None:
            raise ValueError("`value` without `key`")
        if self.seconds is not None and self.effect != "NoExecute":
            raise ValueError("`seconds` is for the effect NoExecute")
        return self


class Environment(Spec):
    """Variables from an object of the cluster: all of it, or one key under a name."""

    secret: Name | None = None
    config_map: Name | None = None
    key: Annotated[str, Field(max_length=253)] | None = None
    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)] | None = None
    """Of the variable that `key` becomes; absent: the key itself."""

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.secret is None) == (self.config_map is None):
            raise ValueError("say either `secret` or `config_map`")
        if self.name is not None and self.key is None:
            raise ValueError("`name` without `key`")
        return self


class Container(Spec):
    """A container beside the job's own: before it (`init`) or along with it (`sidecars`, which never decide its end)."""

    name: DnsLabel
    image: Annotated[str, Field(min_length=1, max_length=512)]
    command: Annotated[tuple[Text, ...], Field(max_length=256)] = ()
    """Empty: the image's own."""
    env: Annotated[dict[str, Text], Field(max_length=256)] = {}
    cpu: Annotated[float, Field(gt=0, le=4096)] = 0.1
    memory: Bytes = 64 * 2**20


class Kubernetes(Spec):
    namespace: DnsLabel | None = None
    """Absent: the launcher's own choice. It must be one that the launcher may use."""
    gang: Literal["auto", "none", "kueue", "volcano"] = "auto"
    """Who starts all pods or none. `auto`: Kueue where `queue` is set and Kueue is installed; Volcano where that is; none."""
    queue: Name | None = None
    """A LocalQueue of Kueue, or a queue of Volcano."""
    priority_class: Name | None = None
    service_account: Name | None = None
    image_pull_secrets: Annotated[tuple[Name, ...], Field(max_length=16)] = ()
    labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=32)] = {}
    annotations: Annotated[dict[LabelKey, Text], Field(max_length=32)] = {}
    node_selector: Annotated[dict[LabelKey, LabelValue], Field(max_length=32)] = {}
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=32)] = ()
    placement: Literal["any", "pack", "spread"] = "any"
    """`pack`: pods near one another; `spread`: on as many domains as there are. Both are wishes, not conditions."""
    topology_key: LabelKey = "kubernetes.io/hostname"
    """What counts as one domain for `placement`."""
    shared_memory: Bytes | None = None
    """Size of /dev/shm; absent: half of the pod's memory. It counts against the pod's memory."""
    resources: Annotated[dict[Annotated[str, Field(pattern=RESOURCE)], Annotated[int, Field(ge=1)]], Field(max_length=8)] = {}
    """More of what a node offers, for every pod: `rdma/hca: 1`."""
    volumes: Annotated[tuple[Volume, ...], Field(max_length=32)] = ()
    env_from: Annotated[tuple[Environment, ...], Field(max_length=32)] = ()
    """S3 credentials, proxies and the like; secrets never stand in a job file."""
    host_network: bool = False
    """For RDMA without a device plugin; needs a namespace that allows it, and `security: privileged`."""
    init: Annotated[tuple[Container, ...], Field(max_length=8)] = ()
    sidecars: Annotated[tuple[Container, ...], Field(max_length=8)] = ()
    security: Literal["restricted", "baseline", "privileged"] = "restricted"
    """The pod security standard that the pods keep to."""
    user: Annotated[int, Field(ge=1)] = 1000
    """Numeric user and group of the job's processes, for `restricted`."""
    keep: Duration = 3600.0
    """How long the objects stay after the job has ended and its logs are stored."""

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.host_network and self.security != "privileged":
            raise ValueError("`host_network` is only allowed with `security: privileged`")
        mounts = [volume.mount for volume in self.volumes]
        twice = next((mount for mount in mounts if mounts.count(mount) > 1), None)
        if twice is not None:
            raise ValueError(f"two volumes are mounted at {twice}")
        names = [container.name for container in (*self.init, *self.sidecars)]
        again = next((name for name in names if names.count(name) > 1 or name == "job"), None)
        if again is not None:
            raise ValueError(f"two containers are called {again!r} (the job's own is called 'job')")
        return self
