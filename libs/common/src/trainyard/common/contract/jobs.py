"""The job file: one shape for every framework, on a laptop and on a cluster.

Everything that a person may write is here, strict: unknown fields, wrong types and impossible values are refused at
submission. What only the services find out (image, node, ports) is never part of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from trainyard.common.contract import accelerators
from trainyard.common.contract.conversions import ConvertSpec
from trainyard.common.contract.frameworks import FRAMEWORKS, RESERVED_ENV, FrameworkName, fault
from trainyard.common.contract.kubernetes import Kubernetes
from trainyard.common.contract.sources import IN_IMAGE, SOURCE
from trainyard.common.contract.retries import Retries
from trainyard.common.contract.model import RESOURCE, STORED, Bytes, DnsLabel, Duration, Spec, Text

_SHORT = ("replicas", "processes", "resources", "limits")


class Elastic(Spec):
    """For modes that go on when processes or replicas come and go."""

    min_replicas: Annotated[int, Field(ge=1, le=10_000)] = 1
    """It goes on with this many."""
    max_replicas: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """The most that `yard resize` may give it; absent: any number."""
    restarts: Annotated[int, Field(ge=0, le=100)] = 3
    """Times that the framework itself starts its processes again within one attempt."""


    @model_validator(mode="after")
    def _the_most_is_not_less_than_the_fewest(self) -> Self:
        if self.max_replicas is not None and self.max_replicas < self.min_replicas:
            raise ValueError(f"max_replicas is {self.max_replicas}, less than min_replicas, which is {self.min_replicas}")
        return self


class Framework(Spec):
    name: FrameworkName
    """Which adapter forms the process group."""
    version: Annotated[str, Field(max_length=100)] | None = None
    """A PEP 440 specifier such as `>=2.1,<3`; absent: the newest that fits."""
    mode: Annotated[str, Field(max_length=40)] | None = None
    """How the processes are started (`torchrun`, `msrun` …); absent: the framework's first, see `yard frameworks`."""
    elastic: Elastic | None = None
    features: Annotated[tuple[Annotated[str, Field(max_length=40)], ...], Field(max_length=16)] = ()
    """What image and hardware must be able to do: `bf16`, `flash-attention`, `torch-compile` …"""


def _framework(value: Any) -> Any:
    """`pytorch` and `pytorch>=2.1` are short for the mapping."""
    if isinstance(value, str):
        for index, char in enumerate(value):
            if char in "<>=!~":
                return {"name": value[:index].strip(), "version": value[index:].strip()}
        return {"name": value.strip()}
    return value


class Accelerators(Spec):
    count: Annotated[int, Field(ge=0, le=1024)] = 0
    """Accelerators for each process."""
    kind: Annotated[str, Field(max_length=40)] = "gpu"
    """`gpu`, `npu`, …: a name from the hardware registry."""
    models: Annotated[tuple[Annotated[str, Field(max_length=60)], ...], Field(max_length=16)] = ()
    """Acceptable products, best first; empty: any. `[h100, a100-80g, 910b]`; `yard matrix show hardware` lists them."""
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    """This much of one accelerator, where a scheduler can share it."""
    resource: Annotated[str, Field(max_length=100, pattern=RESOURCE)] | None = None
    """A Kubernetes resource by its name, such as `nvidia.com/mig-1g.10gb`."""

    @model_validator(mode="after")
    def _is_no_processor(self, info: ValidationInfo) -> Self:
        if self.count and self.kind == "cpu" and info.context != STORED:
            raise ValueError("a processor is no accelerator: leave it out, and ask for cores with `cpu`")
        return self

    @model_validator(mode="after")
    def _a_share_is_of_one(self) -> Self:
        if self.share is not None and self.count != 1:
            raise ValueError(f"a share is of one accelerator, not of {self.count}: ask for a whole number, or for one")
        return self


AcceleratorRequest = Annotated[
    Accelerators,
    BeforeValidator(
        accelerators.spelt_out, json_schema_input_type=Accelerators | float | str | list[str] | dict[str, Any]
    ),
]
"""As people write it: `4`, `0.5`, `1(V100)`, `gpu: 4`, `any: [h100, a100]`; see contract.accelerators."""


class Resources(Spec):
    """What each process needs. Requests, not limits: a process is placed where this much is free."""

    cpu: Annotated[float, Field(gt=0, le=4096)] = 1.0
    """Cores."""
    memory: Bytes = 512 * 2**20
    """Bytes; `512Mi`, `2Gi`."""
    accelerators: AcceleratorRequest = Accelerators()
    """`gpu: 4`, `1(V100)`, `2(npu,910B)`, `0.5`, `nvidia.com/mig-1g.10gb: 1`, `any: [h100, a100-80g, 910b]`."""


class Limits(Spec):
    """Ceilings, apart from the requests."""

    cpu: Annotated[float, Field(gt=0, le=4096)] | None = None
    memory: Bytes | None = None


class Role(Spec):
    """One kind of replica of a job: `worker`, `chief`, `ps`, `scheduler` …"""

    replicas: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Machines or pods."""
    processes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Processes in each replica; usually one for each accelerator."""
    command: Annotated[
        tuple[Text, ...] | None,
        BeforeValidator(lambda value: _command(value), json_schema_input_type=tuple[str, ...] | str | None),
    ] = None
    """Instead of the job's command."""
    env: Annotated[dict[str, Text], BeforeValidator(lambda value: _env(value)), Field(max_length=256)] = {}
    resources: Resources = Resources()
    limits: Limits = Limits()
    background: bool | None = None
    """It serves the others: ended when they are done, its own end decides nothing. Absent: as the framework has it."""


class Timeouts(Spec):
    pending: Duration | None = None
    """Longest wait before the first process starts."""
    active: Duration | None = None
    """Longest run of all attempts together."""
    idle: Duration | None = None
    """Longest time without reported progress."""
    grace: Duration = 30.0
    """Between SIGTERM and SIGKILL."""


def _command(value: Any) -> Any:
    """`command: python train.py` is split as a shell would split it, without a shell."""
    if isinstance(value, bool | int | float):  # YAML reads `true` and `5` as what they look like
        raise ValueError(f"{str(value).lower()} is not text: write it in quotes")
    if isinstance(value, str):
        import shlex  # noqa: PLC0415 - only for the short form

        try:
            return shlex.split(value)
        except ValueError as error:
            raise ValueError(f"the command cannot be split into words: {error}") from error
    return value


def _usable(env: dict[str, str], reserved: frozenset[str] = RESERVED_ENV) -> dict[str, str]:
    for name in env:
        if not name or "=" in name or "\0" in name:
            raise ValueError(f"{name!r} is not a name of an environment variable")
        if name in reserved or name.startswith("TRAINYARD_"):
            raise ValueError(f"{name} is set by the launcher; choose another name")
    return env


def _env(value: Any) -> Any:
    """YAML reads `EPOCHS: 10` as a number; a process gets text."""
    if isinstance(value, dict):
        return {
            key: str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item
            for key, item in value.items()
        }
    return value


class JobSpec(Spec):
    """A job file. Times are seconds or `15m`, sizes are bytes or `2Gi`."""

    name: DnsLabel
    """Lower-case letters, digits and `-`, at most 40."""
    project: DnsLabel = "default"
    labels: Annotated[dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=63)]], Field(max_length=32)] = {}
    framework: Annotated[Framework, BeforeValidator(_framework, json_schema_input_type=Framework | str)]
    image: Annotated[str, Field(max_length=200)] | None = None
    """A name from the image catalogue; absent: the matrix chooses."""
    workdir: Annotated[Text, Field(max_length=4096)] | None = None
    """Where the command runs. In a job file a relative path counts from the file; on the wire it is absolute."""
    source: Annotated[str, Field(pattern=SOURCE, max_length=71)] | None = None
    """Where the content of `workdir` comes from: `sha256:…` names an archive that was sent to the yard before, `image` says
    that the folder is in the image. Absent: whatever is there; where jobs run on other machines than this one, `yard submit`
    and the SDK send the folder."""
    command: Annotated[
        tuple[Text, ...], BeforeValidator(_command, json_schema_input_type=tuple[str, ...] | str), Field(min_length=1)
    ]
    """Program and arguments; `python` is the image's interpreter."""
    env: Annotated[dict[str, Text], BeforeValidator(_env), Field(max_length=256)] = {}
    replicas: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Short for `roles.worker.replicas`."""
    processes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Short for `roles.worker.processes`."""
    resources: Resources = Resources()
    """Short for `roles.worker.resources`."""
    limits: Limits = Limits()
    roles: Annotated[dict[DnsLabel, Role], Field(max_length=16)] = {}
    """For runtimes with several kinds of replicas; excludes the short forms above."""
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    """Higher starts first."""
    retries: Retries = Retries()
    timeouts: Timeouts = Timeouts()
    convert: ConvertSpec | None = None
    """What the converter makes of the trained model."""
    kubernetes: Kubernetes | None = None
    """How the pods stand on a cluster; passed over on one machine."""

    @field_validator("env")
    @classmethod
    def _env_is_usable(cls, env: dict[str, str]) -> dict[str, str]:
        return _usable(env)

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        if not self.roles:
            return self
        # By value, not by what was written: a spec read back from the wire spells every default out.
        short = [name for name in _SHORT if getattr(self, name) != type(self).model_fields[name].default]
        if short:
            raise ValueError(f"say {', '.join(short)} inside each of `roles`, not beside them")
        return self

    @model_validator(mode="after")
    def _the_framework_can_be_started_so(self, info: ValidationInfo) -> Self:
        if info.context == STORED:
            return self
        roles = self.all_roles()
        framework = self.framework
        shape = {name: role.replicas * role.processes for name, role in roles.items()}
        wrong = fault(framework.name, framework.mode, framework.elastic is not None, shape)
        if wrong is not None:
            raise ValueError(wrong)
        reserved = RESERVED_ENV | FRAMEWORKS[framework.name].reserved
        for env in (self.env, *(role.env for role in roles.values())):
            _usable(env, reserved)
        if roles and all(role.background for role in roles.values()):
            raise ValueError("every role is `background`: nothing would decide when the job is done")
        return self

    @model_validator(mode="after")
    def _rules_are_of_its_roles(self, info: ValidationInfo) -> Self:
        if info.context == STORED:
            return self
        roles = self.all_roles()
        for index, rule in enumerate(self.retries.exit_codes):
            if rule.role is not None and rule.role not in roles:
                raise ValueError(
                    f"retries.exit_codes[{index}] speaks of role {rule.role}, and the job has {', '.join(sorted(roles))}"
                )
        return self

    @property
    def archive(self) -> str | None:
        """The digest of the archive that is the job's folder; None: there is none."""
        return self.source if self.source != IN_IMAGE else None

    def all_roles(self) -> dict[str, Role]:
        """Every role, the short form spelt out. One entry at least."""
        if self.roles:
            return dict(self.roles)
        return {
            "worker": Role(
                replicas=self.replicas, processes=self.processes, resources=self.resources, limits=self.limits
            )
        }

    def world_size(self) -> int:
        return sum(role.replicas * role.processes for role in self.all_roles().values())


__all__ = [
    "FRAMEWORKS",
    "Accelerators",
    "Elastic",
    "Framework",
    "JobSpec",
    "Limits",
    "Resources",
    "Retries",
    "Role",
    "Timeouts",
]
