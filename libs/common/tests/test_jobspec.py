"""What a person may write in a job file, and what is said to them when it is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trainyard.common.contract.events import JobSubmitted
from trainyard.common.contract.explain import validate
from trainyard.common.contract.jobfile import MAX_BYTES, parse_json, parse_yaml
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.errors import InvalidInput

LAUGHS = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "\n".join(
    f"{name}: &{name} [{','.join(['*' + above] * 10)}]" for above, name in zip("abcdef", "bcdefg", strict=True)
)
MINIMAL: dict[str, Any] = {"name": "a", "framework": "generic", "command": ["true"]}


def spec(**changes: Any) -> JobSpec:
    return validate(JobSpec, {**MINIMAL, **changes})


def test_short_forms_become_the_long_ones() -> None:
    job = spec(
        framework="pytorch>=2.1,<3",
        command="python train.py --name 'two words'",
        env={"EPOCHS": 10},
        resources={"memory": "2Gi"},
        timeouts={"active": "90m"},
    )
    assert job.framework.name == "pytorch"
    assert job.framework.version == ">=2.1,<3"
    assert job.command == ("python", "train.py", "--name", "two words")
    assert job.env == {"EPOCHS": "10"}
    assert job.resources.memory == 2 * 2**30
    assert job.timeouts.active == 5400


def test_a_spec_survives_the_wire() -> None:
    job = spec(roles={"chief": {}, "worker": {"replicas": 3, "processes": 2}})
    assert JobSpec.model_validate_json(job.model_dump_json(exclude_none=True)) == job
    assert job.world_size() == 7


@pytest.mark.parametrize(
    ("changes", "where", "says"),
    [
        ({"replicaz": 2}, "replicaz", "did you mean 'replicas'?"),
        ({"resources": {"cpus": 2}}, "resources.cpus", "did you mean 'cpu'?"),
        ({"roles": {"ps": {"replica": 2}}}, "roles.ps.replica", "did you mean 'replicas'?"),
        ({"framework": {"name": "pytorch", "verson": "2"}}, "framework.verson", "did you mean 'version'?"),
        ({"framework": "pytroch"}, "framework.name", "'pytroch' is not known"),
        ({"name": "../evil"}, "name", "does not fit"),
        ({"name": "a" * 200}, "name", "at most 40"),
        ({"workdir": "/" + "a" * 5000}, "workdir", "at most 4096 characters"),
        ({"name": "Ünïcode"}, "name", "does not fit"),
        ({"replicas": -1}, "replicas", "greater than or equal to 1"),
        ({"replicas": "many"}, "replicas", "valid integer"),
        ({"command": []}, "command", "at least 1 item"),
        ({"command": "python 'unclosed"}, "command", "cannot be split"),
        ({"command": ["a\0b"]}, "command.0", "NUL"),
        ({"env": {"A": "x\0y"}}, "env.A", "NUL"),
        ({"env": {"A=B": "x"}}, "env", "not a name"),
        ({"env": {"RANK": "0"}}, "env", "set by the launcher"),
        ({"env": {"TRAINYARD_X": "0"}}, "env", "set by the launcher"),
        ({"env": {"A": [1]}}, "env.A", "must be text, not [1]"),
        ({"command": True}, "command", "true is not text: write it in quotes"),
        ({"command": {"run": "x"}}, "command", "must be a list"),
        ({"labels": "a"}, "labels", "must be a mapping"),
        ({"resources": 5}, "resources", "must be a mapping"),
        ({"resources": {"memory": "lots"}}, "resources.memory", "512Mi"),
        ({"resources": {"cpu": 0}}, "resources.cpu", "greater than 0"),
        ({"timeouts": {"grace": "soon"}}, "timeouts.grace", "90s"),
        ({"roles": {"ps": {}}, "replicas": 2}, "", "inside each of `roles`"),
        ({"convert": {"model": "no-colon", "inputs": [{"name": "x"}]}}, "convert.model", "does not fit"),
        ({"convert": {"model": "m:f", "inputs": []}}, "convert.inputs", "does not say what goes into"),
        ({"convert": {"weights": "net.safetensors"}}, "convert.inputs", "does not say what goes into"),
        ({"convert": {"weights": "net.ckpt"}}, "convert.inputs", "does not say what goes into"),
    ],
)
def test_faults_are_told_where_they_are(changes: dict[str, Any], where: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        spec(**changes)
    assert [problem.where for problem in caught.value.problems] == [where]
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"framework": "jax", "roles": {"chief": {}}}, "jax knows no role 'chief': worker"),
        ({"framework": "tensorflow", "roles": {"ps": {}, "worker": {}}}, "role ps needs chief beside it"),
        ({"framework": "tensorflow", "roles": {"chief": {"replicas": 2}}}, "role chief is a single process, not 2"),
        (
            {"framework": "mxnet", "processes": 2},
            "mxnet with more than one process needs roles scheduler, server, worker",
        ),
        ({"framework": {"name": "pytorch", "mode": "horovodrun"}}, "is none of pytorch's: processes, torchrun"),
        ({"framework": {"name": "pytorch", "elastic": {}}}, "set framework.mode to torchrun"),
        ({"framework": {"name": "jax", "elastic": {}}}, "jax has no elastic mode"),
        ({"framework": "tensorflow", "env": {"TF_CONFIG": "{}"}}, "TF_CONFIG is set by the launcher"),
        ({"framework": "jax", "roles": {"worker": {"env": {"JAX_PROCESS_ID": "1"}}}}, "JAX_PROCESS_ID is set by"),
        ({"roles": {"a": {"env": {"RANK": "1"}}}}, "RANK is set by the launcher"),
        ({"roles": {"a": {"background": True}}}, "nothing would decide when the job is done"),
    ],
)
def test_a_shape_that_the_framework_cannot_have_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        spec(**changes)
    assert says in str(caught.value)


def test_what_was_accepted_once_is_read_for_ever() -> None:
    """An older yard took roles that its table of frameworks did not look at; its log must stay readable."""
    old = {**MINIMAL, "framework": {"name": "jax"}, "roles": {"chief": {"env": {"JAX_PROCESS_ID": "1"}}}}
    event = JobSubmitted.parse(json.dumps({"job_id": "j", "owner": "ann", "spec": old}))
    assert event.spec.roles["chief"].env == {"JAX_PROCESS_ID": "1"}


def test_a_role_is_written_as_a_job_is() -> None:
    role = spec(roles={"ps": {"command": "python serve.py --port 1", "env": {"N": 3}}}).roles["ps"]
    assert role.command == ("python", "serve.py", "--port", "1")
    assert role.env == {"N": "3"}


def test_missing_fields_are_each_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        validate(JobSpec, {})
    assert {problem.where for problem in caught.value.problems} == {"name", "framework", "command"}


@pytest.mark.parametrize("document", [[], "x", 3, None])
def test_only_a_mapping_is_a_job(document: Any) -> None:
    with pytest.raises(InvalidInput, match="mapping of fields"):
        validate(JobSpec, document)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("- a\n- b", "mapping of fields"),
        ("a: 1\nb: [", "not valid YAML"),
        ("a: 1\na: 2", "'a' is written twice"),
        ("a: &x [*x]", "contains itself"),
        ("a: !!python/object/apply:os.system ['true']", "not valid YAML"),
        ("a: " + "[" * 60 + "]" * 60, "nested deeper"),
        (LAUGHS, "unfolds"),
        ("a: " + "x" * MAX_BYTES, "at most"),
        (b"\xff\xfe\x00", "not valid YAML"),
        ("a: [.inf]", "inf is not a number to compute with"),
    ],
)
def test_hostile_or_broken_yaml_is_refused(text: str | bytes, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        parse_yaml(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "mapping"),
        ('{"a": {"b": 1, "b": 2}}', "'b' is written twice"),
        ('{"a": NaN}', "nan is not a number to compute with"),
    ],
)
def test_broken_json_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        parse_json(text)


@pytest.mark.parametrize(
    "text", ['{"name": "a", "command": ["echo \\ud800"]}', '{"\\udc00": 1}', 'name: a\ncommand: ["echo \\ud800"]\n']
)
def test_half_a_surrogate_pair_is_refused_before_it_is_to_be_written(text: str) -> None:
    parse = parse_json if text.startswith("{") else parse_yaml
    with pytest.raises(InvalidInput) as caught:
        parse(text)
    str(caught.value).encode()
    assert "surrogate" in str(caught.value)
