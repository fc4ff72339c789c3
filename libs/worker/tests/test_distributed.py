"""Real process groups of real PyTorch processes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from trainyard.common.loopback import free_port

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

Run = Callable[..., list[Any]]

GROUP = """
import torch, torch.distributed as dist
from trainyard.worker import init_distributed
process = init_distributed({options})
value = torch.tensor([process.rank + 1.0])
if process.backend:
    dist.all_reduce(value)
print("sum", value.item(), process.rank, process.local_rank, process.world_size, process.backend, process.device)
process.close()
"""


def address(port: int | None = None) -> dict[str, str]:
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port or free_port())}


def test_two_ranks_form_a_group(run: Run) -> None:
    first, second = run(GROUP.format(options=""), world=2, **address())
    assert (first.code, second.code) == (0, 0), first.output + second.output
    assert "sum 3.0 0 0 2 gloo cpu" in first.output
    assert "sum 3.0 1 1 2 gloo cpu" in second.output
    assert "trainyard: 2 process(es), backend gloo, device cpu, 1 threads each, time-out 600 s" in first.output
    assert "trainyard:" not in second.output  # told once


def test_a_single_process_needs_no_group_and_may_be_quiet(run: Run) -> None:
    (only,) = run(GROUP.format(options="quiet=True"))
    assert only.code == 0
    assert only.output == "sum 1.0 0 0 1 None cpu\n"


BUSY = """
import os, sys, torch
from torch.nn.parallel import DistributedDataParallel
from trainyard.worker import init_distributed

def train():
    process = init_distributed(quiet=True)
    layers = [torch.nn.Linear(256, 256) for _ in range(12)]
    network, batch = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.1), torch.ones(4, 256)
    for interval in (0.005, 30):
        sys.setswitchinterval(interval)  # the GIL stays with who computes, as on a busy machine
        network(batch).sum().backward()
    process.close()  # before the network is gone
    sys.setswitchinterval(0.005)

for port in {ports}:
    os.environ["MASTER_PORT"] = str(port)
    train()
print("left")
"""


def test_a_network_that_outlives_its_group_does_not_hang(run: Run) -> None:
    ports = [free_port() for _ in range(6)]
    ended = run(BUSY.format(ports=ports), world=2, **address(ports[0]))
    assert [(item.code, item.output) for item in ended] == [(0, "left\n")] * 2


def test_who_does_not_come_is_waited_for_no_longer_than_said(run: Run) -> None:
    (alone,) = run(GROUP.format(options="timeout=3"), world=2, present=1, **address())
    assert alone.code == 1
    assert "RuntimeError: not all of 2 ranks came to 127.0.0.1:" in alone.output
    assert "within 3 s" in alone.output


def test_what_is_missing_from_the_environment_is_named(run: Run) -> None:
    (alone,) = run(GROUP.format(options=""), world=2, present=1, MASTER_ADDR="127.0.0.1")
    assert "RuntimeError: MASTER_PORT not set: a job with `framework: pytorch` gets them" in alone.output


def test_a_port_that_becomes_free_is_waited_for(run: Run) -> None:
    """The rendezvous of an attempt that has just been killed."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        timer = threading.Timer(8, holder.close)
        timer.start()
        try:
            ended = run(GROUP.format(options="timeout=60"), world=2, **address(holder.getsockname()[1]))
        finally:
            timer.join()
    assert [item.code for item in ended] == [0, 0], ended[0].output + ended[1].output


def test_a_port_that_stays_taken_is_told(run: Run) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        where = address(holder.getsockname()[1])
        (alone,) = run(GROUP.format(options="timeout=2"), world=2, present=1, **where)
    assert alone.code == 1
    assert "is taken by another process: the job needs a free MASTER_PORT" in alone.output
