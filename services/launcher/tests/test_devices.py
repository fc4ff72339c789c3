"""Which accelerators each rank gets: whole ones alone, shares together, slices by their name."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract import events
from trainyard.common.testing.builders import spec
from trainyard.launcher.core.admission import Admission, Need, need_of
from trainyard.launcher.core.devices import Device, Pool, Want, wants_of
from trainyard.launcher.inventory import this_machine

A100, T4 = "NVIDIA A100-SXM4-80GB", "Tesla T4"
MIG = "nvidia.com/mig-1g.10gb"


def gpu(number: int, product: str = A100, resource: str = "nvidia.com/gpu") -> Device:
    return Device(f"GPU-{number}", "gpu", product, resource, "CUDA_VISIBLE_DEVICES", 80 * 2**30, "580.65.06")


def role(accelerators: Any, **changes: Any) -> dict[str, Any]:
    return {"resources": {"accelerators": accelerators}, **changes}


def test_every_process_gets_its_own() -> None:
    pool = Pool([gpu(number) for number in range(4)])
    wants = wants_of(spec(processes=2, **role(2)), None)
    assert pool.take("a", wants) == (("GPU-0", "GPU-1"), ("GPU-2", "GPU-3"))
    assert pool.take("b", (Want(1, "gpu"),)) is None
    pool.give_back("a")
    assert pool.take("b", (Want(4, "gpu"),)) is not None


def test_nothing_is_taken_where_not_all_fit() -> None:
    pool = Pool([gpu(0), gpu(1)])
    assert pool.take("a", (Want(1, "gpu"), Want(2, "gpu"))) is None
    assert pool.free == 2


def test_shares_fill_one_device_before_the_next() -> None:
    pool = Pool([gpu(0), gpu(1)])
    half = wants_of(spec(**role(0.5)), None)
    assert [pool.take(name, half) for name in "abc"] == [(("GPU-0",),), (("GPU-0",),), (("GPU-1",),)]
    assert pool.take("d", (Want(1, "gpu"),)) is None, "a whole one is not to be had"
    pool.give_back("c")
    assert pool.take("d", (Want(1, "gpu"),)) == (("GPU-1",),)


def test_ten_tenths_fit_and_come_back_whole() -> None:
    pool = Pool([gpu(0)])
    tenth = (Want(1, "gpu", 0.1),)
    assert all(pool.take(str(number), tenth) for number in range(10))
    assert pool.take("more", tenth) is None
    for number in range(10):
        pool.give_back(str(number))
    assert pool.take("whole", (Want(1, "gpu"),)) is not None


def test_the_product_that_the_matrix_chose() -> None:
    pool = Pool([gpu(0, T4), gpu(1)])
    resolution = events.Resolution(image="x", node_labels={"nvidia.com/gpu.product": A100})
    assert pool.take("a", wants_of(spec(**role(1)), resolution)) == (("GPU-1",),)


def test_each_role_gets_the_product_that_was_chosen_for_it() -> None:
    pool = Pool([gpu(0, T4), gpu(1)])
    chosen = {
        name: events.RoleResolution(accelerator="gpu", node_labels={"nvidia.com/gpu.product": product})
        for name, product in (("master", A100), ("worker", T4))
    }
    resolution = events.Resolution(image="x", node_labels=chosen["master"].node_labels, roles=chosen)
    asked = spec(framework="pytorch", roles={"master": role("1(a100)"), "worker": role("1(t4)")})
    assert pool.take("a", wants_of(asked, resolution)) == (("GPU-1",), ("GPU-0",))


def test_a_slice_is_given_only_by_its_name() -> None:
    pool = Pool([gpu(0, resource=MIG), gpu(1, resource="nvidia.com/mig-2g.20gb")])
    assert pool.take("a", (Want(1, "gpu"),)) is None
    assert pool.take("a", wants_of(spec(**role({MIG: 1})), None)) == (("GPU-0",),)


def test_a_job_without_accelerators_wants_none() -> None:
    assert wants_of(spec(processes=3), None) == ()
    assert Pool().take("a", ()) == ()


def test_after_a_restart_running_jobs_have_what_they_had() -> None:
    admission = Admission(Need(8, 2**40, ranks=64), [gpu(0), gpu(1)])
    one = need_of(spec(**role(1)))
    admission.occupy("running", one, (("GPU-1",),))
    admission.offer("waiting", one, priority=0, order=1)
    assert admission.admit() == ["waiting"]
    assert admission.devices_of("waiting") == (("GPU-0",),)
    admission.offer("next", one, priority=0, order=2)
    assert admission.admit() == []
    assert "accelerators: 0 of 2" in admission.waits_for(one)
    admission.release("running")
    assert admission.admit() == ["next"]
    assert admission.devices_of("next") == (("GPU-1",),)


def test_a_device_that_is_gone_is_passed_over() -> None:
    admission = Admission(Need(8, 2**40, ranks=64), [gpu(0)])
    admission.occupy("running", need_of(spec(**role(1))), (("GPU-7",),))
    admission.release("running")


@pytest.mark.parametrize(
    ("devices", "asked", "words"),
    [
        ([], 1, "1 accelerators (there are 0)"),
        ([gpu(0), gpu(1), gpu(2, T4)], 4, f"4 accelerators (there are 2 × {A100}, 1 × {T4})"),
    ],
)
def test_what_can_never_start_says_what_there_is(devices: list[Device], asked: int, words: str) -> None:
    fault = Admission(Need(8, 2**40, ranks=64), devices).impossible(need_of(spec(**role(asked))))
    assert fault is not None
    assert words in fault


def test_the_inventory_counts_devices_by_product() -> None:
    node = this_machine(name="here", machine="x86_64", cpu=8, memory=2**36, devices=[gpu(0), gpu(1), gpu(2, T4)])
    assert [(group.product, group.count) for group in node.accelerators] == [(A100, 2), (T4, 1)]
    assert node.accelerators[0].driver == "580.65.06"
    assert node.key == "local.here"


def test_another_attempt_gets_what_is_there_and_a_device_that_comes_back_is_given_again() -> None:
    gpus = [gpu(number) for number in range(3)]
    pool = Pool(gpus)
    assert pool.take("a", (Want(1, "gpu"),)) == ((gpus[0].id,),)
    pool.see({device.id for device in gpus[1:]})
    assert pool.renew("a", (Want(1, "gpu"),)) == ((gpus[1].id,),)
    assert pool.free == len(gpus) - 2
    assert pool.renew("a", (Want(len(gpus), "gpu"),)) is None
    assert pool.free == len(gpus) - 2, "it keeps what it had"
    pool.see({device.id for device in gpus})
    pool.give_back("a")
    assert pool.free == len(gpus)
