"""Who a process is, whoever started it; and which defaults are set."""

from __future__ import annotations

import os

import pytest

from trainyard.common.contract.frameworks import FRAMEWORKS
from trainyard.worker import defaults
from trainyard.worker.distributed import JOINS, init_distributed
from trainyard.worker.frameworks.deepspeed import deepspeed_config
from trainyard.worker.place import here


@pytest.mark.parametrize(
    ("env", "identity"),
    [
        ({}, (0, 0, 1)),
        ({"TRAINYARD_RANK": "3", "TRAINYARD_LOCAL_RANK": "1", "TRAINYARD_WORLD_SIZE": "4", "RANK": "9"}, (3, 1, 4)),
        ({"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2"}, (1, 1, 2)),
        ({"PADDLE_TRAINER_ID": "2", "PADDLE_TRAINERS_NUM": "3"}, (2, 0, 3)),
        ({"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_SIZE": "8"}, (5, 1, 8)),
        ({"RANK_ID": "1", "RANK_SIZE": "2", "DEVICE_ID": "1"}, (1, 1, 2)),
    ],
)
def test_whoever_numbers_the_processes(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], identity: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(os, "environ", env)
    place = here()
    assert (place.rank, place.local_rank, place.world_size) == identity


def test_where_the_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_MASTER_PORT", "20001")
    monkeypatch.setenv("TRAINYARD_ENDPOINTS", "127.0.0.1:1,127.0.0.1:2")
    assert here().master == ("127.0.0.1", 20001)
    assert here().endpoints == ("127.0.0.1:1", "127.0.0.1:2")


def test_every_framework_can_be_joined() -> None:
    assert set(JOINS) == set(FRAMEWORKS)
    with pytest.raises(ValueError, match="'torch' is no framework of ours: pytorch"):
        init_distributed(framework="torch")


def test_defaults_are_set_told_and_can_be_switched_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "environ", {"MINE": "kept"})
    assert defaults.environment({"MINE": "x", "A_DEFAULT": "1"}) == {"A_DEFAULT": "1"}
    assert os.environ["MINE"] == "kept"
    assert "A_DEFAULT=1 (TRAINYARD_DEFAULTS=off" in capsys.readouterr().out
    monkeypatch.setattr(os, "environ", {"TRAINYARD_DEFAULTS": "-b_default"})
    assert defaults.environment({"A_DEFAULT": "1", "B_DEFAULT": "1"}) == {"A_DEFAULT": "1"}
    monkeypatch.setattr(os, "environ", {"TRAINYARD_DEFAULTS": "off"})
    assert defaults.environment({"A_DEFAULT": "1"}) == {}


def test_a_deepspeed_configuration_is_completed_never_overwritten() -> None:
    made = deepspeed_config(micro_batch=8, stage=3, offload=True)
    assert made["zero_optimization"]["offload_param"] == {"device": "cpu"}
    assert made["gradient_clipping"] == 1.0
    given = deepspeed_config(micro_batch=8, stage=2, base={"zero_optimization": {"stage": 1}, "train_batch_size": 64})
    assert given["zero_optimization"]["stage"] == 1
    assert given["train_batch_size"] == 64
    assert "train_micro_batch_size_per_gpu" not in given, "DeepSpeed derives it from the world size"
    with pytest.raises(ValueError, match="stage is 0, 1, 2 or 3, not 4"):
        deepspeed_config(micro_batch=1, stage=4)
    with pytest.raises(ValueError, match="offload needs ZeRO"):
        deepspeed_config(micro_batch=1, stage=0, offload=True)
