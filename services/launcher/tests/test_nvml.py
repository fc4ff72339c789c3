# ruff: noqa: N801, N802 - the library's names
"""What is read from the driver's library. The library here is a double with the same functions: no GPU was at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from trainyard.launcher.adapters.local import nvml


@dataclass
class Gpu:
    name: str
    uuid: str
    slices: list[Gpu | None] = field(default_factory=list)
    memory: int = 80 * 2**30


class Library:
    """The part of NVML that is asked, over GPUs that a test made up."""

    class NVMLError(Exception):
        pass

    class NVMLError_NotFound(NVMLError):
        pass

    class NVMLError_NotSupported(NVMLError):
        pass

    def __init__(self, *gpus: Gpu, works: bool = True) -> None:
        self._gpus = gpus
        self._works = works

    def nvmlInit(self) -> None:
        if not self._works:
            raise self.NVMLError("NVML Shared Library Not Found")

    def nvmlShutdown(self) -> None:
        pass

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.65.06"

    def nvmlDeviceGetCount(self) -> int:
        return len(self._gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Gpu:
        if self._gpus[index].name == "lost":
            raise self.NVMLError("GPU is lost")
        return self._gpus[index]

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: Gpu) -> int:
        if gpu.name.startswith("Tesla"):
            raise self.NVMLError_NotSupported
        return len(gpu.slices)

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: Gpu, index: int) -> Gpu:
        found = gpu.slices[index]
        if found is None:
            raise self.NVMLError_NotFound
        return found

    def nvmlDeviceGetName(self, gpu: Gpu) -> str:
        return gpu.name

    def nvmlDeviceGetUUID(self, gpu: Gpu) -> str:
        return gpu.uuid

    def nvmlDeviceGetMemoryInfo(self, gpu: Gpu) -> SimpleNamespace:
        return SimpleNamespace(total=gpu.memory)


A100, T4 = Gpu("NVIDIA A100-SXM4-80GB", "GPU-aa11"), Gpu("Tesla T4", "GPU-bb22")


def test_whole_gpus() -> None:
    found = nvml.devices(None, Library(A100, T4))
    assert [(device.id, device.product, device.resource) for device in found] == [
        ("GPU-aa11", "NVIDIA A100-SXM4-80GB", "nvidia.com/gpu"),
        ("GPU-bb22", "Tesla T4", "nvidia.com/gpu"),
    ]
    assert {device.driver for device in found} == {"580.65.06"}
    assert found[0].memory == 80 * 2**30


def test_slices_instead_of_the_gpu_that_was_cut() -> None:
    cut = Gpu(
        A100.name, A100.uuid, [Gpu(f"{A100.name} MIG 1g.10gb", "MIG-1"), None, Gpu(f"{A100.name} MIG 2g.20gb", "MIG-2")]
    )
    found = nvml.devices(None, Library(cut, T4))
    assert [(device.id, device.resource) for device in found] == [
        ("MIG-1", "nvidia.com/mig-1g.10gb"),
        ("MIG-2", "nvidia.com/mig-2g.20gb"),
        ("GPU-bb22", "nvidia.com/gpu"),
    ]
    assert found[0].product == A100.name


CUT = Gpu(A100.name, A100.uuid, [Gpu(f"{A100.name} MIG 1g.10gb", f"MIG-{letter}") for letter in "ab"])


@pytest.mark.parametrize(
    ("visible", "ids"),
    [
        ("0", ["MIG-a", "MIG-b"]),
        ("1", ["GPU-bb22"]),
        ("GPU-aa", ["MIG-a", "MIG-b"]),
        ("MIG-b,1", ["MIG-b", "GPU-bb22"]),
    ],
)
def test_a_number_is_that_of_the_gpu_whatever_was_cut_before_it(visible: str, ids: list[str]) -> None:
    assert [device.id for device in nvml.devices(visible, Library(CUT, T4))] == ids


@pytest.mark.parametrize(("visible", "ids"), [(None, ["GPU-bb22"]), ("1", ["GPU-bb22"]), ("²", [])])
def test_a_gpu_that_fell_off_the_bus_takes_no_other_along(visible: str | None, ids: list[str]) -> None:
    lost = Gpu("lost", "GPU-cc33")
    assert [device.id for device in nvml.devices(visible, Library(lost, T4))] == ids


@pytest.mark.parametrize(
    ("visible", "ids"),
    [
        (None, ["GPU-aa11", "GPU-bb22"]),
        ("1", ["GPU-bb22"]),
        ("1,0", ["GPU-bb22", "GPU-aa11"]),
        ("GPU-bb", ["GPU-bb22"]),
        ("", []),
        ("-1", []),
        ("0,9,1", ["GPU-aa11"]),
        ("GPU-", []),
    ],
)
def test_what_the_operator_hides_stays_hidden(visible: str | None, ids: list[str]) -> None:
    assert [device.id for device in nvml.devices(visible, Library(A100, T4))] == ids


def test_without_a_driver_there_are_none() -> None:
    assert nvml.devices(None, Library(A100, works=False)) == []


def test_the_real_library_says_what_this_machine_has() -> None:
    """On a machine without NVIDIA's driver the answer is: nothing. With one: devices that a job could be given."""
    assert all(device.id.startswith(("GPU-", "MIG-")) and device.memory for device in nvml.devices(None))
