"""The job file that `yard init` writes: every common field, commented, valid as it stands."""

from __future__ import annotations

from trainyard.common.contract.explain import nearest
from trainyard.common.contract.frameworks import FRAMEWORKS
from trainyard.common.errors import InvalidInput

_COMMAND = {"generic": "echo hello"}

_TEMPLATE = """\
# yaml-language-server: $schema={schema}
name: my-job                  # lower-case letters, digits and '-'
framework: {framework}            # or with a version: "{framework}>=2.1"
command: {command}
# workdir: .                  # where the command runs; relative to this file
# project: default
# labels: {{team: vision}}
# env: {{EPOCHS: 10}}
{shape}
# retries:                    # attempts beyond the first, by who is at fault
#   user: 0
#   infrastructure: 3
#   preemption: 10
#   exit_codes: [{{codes: [75], counts_as: preemption}}]   # or user, infrastructure, fatal (never again)
# timeouts: {{pending: 1h, active: 2d, idle: 30m, grace: 30s}}
# convert:                    # to ONNX and a Triton repository, proven equal
#   model: model:build        # module:factory of the untrained model
#   weights: model.pt         # a state dict in $TRAINYARD_OUTPUT
#   inputs: [{{name: image, dtype: float32, shape: [batch, 1, 8, 8]}}]
#   samples: samples.npz      # held-out inputs by name, and `labels`
"""

_SHORT = """\
# processes: 2                # ranks on a machine; each is told its number and where the others are
# replicas: 1                 # machines
resources:                    # what each process needs
  cpu: 1
  memory: 1Gi
  # accelerators: {count: 1, kind: gpu}"""

_ROLE = """\
  {role}:
    replicas: 1
    # processes: 1
    resources: {{cpu: 1, memory: 1Gi}}"""


def render(framework: str, schema: str = "contract/schemas/v1/job.json") -> str:
    """Raises InvalidInput for a framework that no adapter knows."""
    if framework not in FRAMEWORKS:
        raise InvalidInput.one(f"{framework!r} is not known", "framework", nearest(framework, list(FRAMEWORKS)))
    gang = FRAMEWORKS[framework].gang
    shape = "\n".join(["roles:", *(_ROLE.format(role=role) for role in gang)]) if gang else _SHORT
    command = _COMMAND.get(framework, "python train.py")
    return _TEMPLATE.format(framework=framework, command=command, schema=schema, shape=shape)
