"""Roles that ask for different accelerators: one image that runs for all of them, hardware for each, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from packaging.version import Version

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.model import STORED
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.inventory import Inventory, Node
from trainyard.matrix.core.resolve import NO_INVENTORY, Rejection, resolve


def gpu(name: str, version: str, cuda: str) -> Image:
    return Image(name, "pytorch", Version(version), ("gpu", "cpu"), "cuda", cuda)


CATALOGUE = Catalogue.of(
    [
        gpu("pytorch-2.14-cu130", "2.14.0", "13.0"),
        gpu("pytorch-2.14-cu126", "2.14.0", "12.6"),
        gpu("pytorch-2.9-cu128", "2.9.1", "12.8"),
        gpu("pytorch-2.0-cu118", "2.0.1", "11.8"),
        Image("pytorch-2.7-cann", "pytorch", Version("2.7.1"), ("npu", "cpu"), "cann", "8.3.RC1"),
        Image("pytorch-cpu", "pytorch", Version("2.13.0"), ("cpu",)),
    ],
    shipped(),
)
YARD = Inventory.of(
    [Node("a", "NVIDIA-A100-SXM4-80GB", 8, "580.65.06"), Node("b", "Tesla-T4", 4, "580.65.06")], shipped().hardware
)


def job(roles: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: {"resources": {"accelerators": asked}} if asked else {} for name, asked in roles.items()}
    return {"name": "a", "framework": "pytorch", "command": "true", "roles": made}


def ask(roles: Mapping[str, Any], inventory: Inventory = NO_INVENTORY) -> Resolution | Rejection:
    # How the roles of a framework may look is its adapter's matter; here only what they ask for counts.
    spec = JobSpec.model_validate(job(roles), context=STORED)
    return resolve(spec, CATALOGUE, inventory)


@pytest.mark.parametrize(
    ("roles", "image", "products"),
    [
        ({"chief": "1(A100)", "worker": "8(A100)", "ps": None}, "pytorch-2.14-cu130", ["a100-40g", "a100-40g", None]),
        ({"ps": None, "worker": "1(V100)"}, "pytorch-2.14-cu126", [None, "v100-16g"]),
        ({"trainer": "8(H100)", "evaluator": "1(T4)"}, "pytorch-2.14-cu130", ["h100-pcie", "t4"]),
        # CUDA 13 has no kernels for V100 and 12.6 none for B200: the newest that has both.
        ({"trainer": "8(B200)", "evaluator": "1(V100)"}, "pytorch-2.9-cu128", ["b200", "v100-16g"]),
        ({"trainer": "8(H100)", "evaluator": "1(K80)"}, "pytorch-2.0-cu118", ["h100-pcie", "k80"]),
        ({"master": "1(910B3)", "worker": "8(910B3)"}, "pytorch-2.7-cann", ["910b3", "910b3"]),
        ({"master": None, "worker": None}, "pytorch-cpu", [None, None]),
    ],
)
def test_one_image_and_hardware_for_each(roles: dict[str, Any], image: str, products: list[str | None]) -> None:
    answer = ask(roles)
    assert isinstance(answer, Resolution), answer
    assert answer.image == image
    assert [answer.roles[role].product for role in roles] == products


def test_each_role_has_resources_of_its_own() -> None:
    answer = ask({"ps": None, "chief": "1(A100)", "evaluator": "2(T4)"}, YARD)
    assert isinstance(answer, Resolution), answer
    assert [answer.roles[role].resources for role in ("ps", "chief", "evaluator")] == [
        {},
        {"nvidia.com/gpu": 1},
        {"nvidia.com/gpu": 2},
    ]
    assert answer.roles["chief"].node_labels == {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
    assert answer.roles["evaluator"].node_labels == {"nvidia.com/gpu.product": "Tesla-T4"}
    assert answer.roles["ps"].visible is None
    # What reads no roles yet finds what it found before: the first role that asks.
    assert (answer.product, answer.resources) == ("a100-80g", {"nvidia.com/gpu": 1})
    choices = [reason.text for reason in answer.reasons if reason.rule == "choice"]
    assert [text.split(": ")[0] for text in choices] == ["role chief", "role evaluator"]


def test_a_job_of_one_role_has_no_list_of_them() -> None:
    spec = {"name": "a", "framework": "pytorch", "command": "true", "resources": {"accelerators": "1(A100)"}}
    answer = resolve(JobSpec.model_validate(spec), CATALOGUE)
    assert isinstance(answer, Resolution)
    assert answer.roles == {}


@pytest.mark.parametrize(
    ("roles", "says", "nearest"),
    [
        (
            {"trainer": "8(A100)", "worker": "2(npu,910B)"},
            "no image runs on what every role asks for (role trainer: a100; role worker: 910b), and a job has one image",
            'in roles.worker: resources: {accelerators: "2(a100)"}',
        ),
        (
            {"trainer": "1(K80)", "worker": "1(B200)"},
            "(role trainer: k80; role worker: b200)",
            'in roles.worker: resources: {accelerators: "1(k80)"}',
        ),
        (
            {"trainer": {"npu": 1}, "a": "1(T4)", "b": "1(T4)"},
            "role trainer: npu; roles a and b: t4",
            'in roles.a and roles.b: resources: {accelerators: "1(npu)"}',
        ),
        (
            {"trainer": "1(V1000)", "worker": "1(A100)"},
            "there is no accelerator 'V1000'",
            'in roles.trainer: resources: {accelerators: "1(v100)"}',
        ),
    ],
)
def test_what_no_image_serves_is_refused(roles: dict[str, Any], says: str, nearest: str) -> None:
    answer = ask(roles)
    assert isinstance(answer, Rejection), answer
    assert says in answer.message
    assert answer.nearest[0] == nearest
    assert not answer.reasons[-1].passed
    # Pasted where it says, it gets the job on.
    where, change = nearest.removeprefix("in ").split(": ", 1)
    document = job(roles)
    for role in where.split(" and "):
        document["roles"][role.removeprefix("roles.")] |= yaml.safe_load(change)
    spec = JobSpec.model_validate(document, context=STORED)
    assert isinstance(resolve(spec, CATALOGUE), Resolution)


def test_a_role_that_has_no_room_is_told_by_name() -> None:
    answer = ask({"chief": "1(A100)", "worker": "16(A100)"}, YARD)
    assert isinstance(answer, Rejection), answer
    assert answer.message.startswith("role worker: no accelerator stands 16 times in one machine")
    assert answer.nearest == ("in roles.worker: resources: {accelerators: 8}",)
