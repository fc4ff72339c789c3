"""The NVIDIA GPUs of this machine, asked of the driver's own library (NVML).

A GPU in MIG mode is not given away as a whole; its slices are devices. What CUDA_VISIBLE_DEVICES hides from the launcher is
not given to jobs. Without driver or library there are no devices, which is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pynvml
import structlog

from trainyard.launcher.core.devices import Device

log = structlog.get_logger()

VISIBLE = "CUDA_VISIBLE_DEVICES"


Gpus = list[tuple[str, list[Device]]]
"""In the order of nvidia-smi: the UUID of each GPU, and what of it may be given away (itself, its slices, or nothing)."""


def devices(visible: str | None, nvml: Any = pynvml) -> list[Device]:
    """Read at the launcher's start and before each further attempt: a GPU that fell off the bus is given to nobody then."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        log.info("no NVIDIA GPUs", reason=str(error))
        return []
    try:
        found = list(_all(nvml))
    except nvml.NVMLError as error:
        log.warning("the NVIDIA GPUs cannot be read; none are given to jobs", error=str(error))
        return []
    finally:
        nvml.nvmlShutdown()
    return _allowed(found, visible)


def _all(nvml: Any) -> Iterator[tuple[str, list[Device]]]:
    driver = str(nvml.nvmlSystemGetDriverVersion())
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            gpu = nvml.nvmlDeviceGetHandleByIndex(index)
            slices = list(_slices(nvml, gpu, driver))
            yield str(nvml.nvmlDeviceGetUUID(gpu)), slices or [_device(nvml, gpu, driver)]
        except nvml.NVMLError as error:
            # It keeps its number, so that the others keep theirs.
            log.warning("an NVIDIA GPU cannot be read; it is not given to jobs", number=index, error=str(error))
            yield "", []


def _slices(nvml: Any, gpu: Any, driver: str) -> Iterator[Device]:
    try:
        for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
            try:
                piece = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index)
            except nvml.NVMLError_NotFound:  # the places need not be filled from the front
                continue
            yield _device(nvml, piece, driver)
    except nvml.NVMLError_NotSupported:
        return


def _device(nvml: Any, handle: Any, driver: str) -> Device:
    product = str(nvml.nvmlDeviceGetName(handle))
    whole, _, profile = product.partition(" MIG ")
    return Device(
        id=str(nvml.nvmlDeviceGetUUID(handle)),
        kind="gpu",
        product=whole,
        resource=f"nvidia.com/mig-{profile}" if profile else "nvidia.com/gpu",
        visible=VISIBLE,
        memory=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
        driver=driver,
    )


def _allowed(gpus: Gpus, visible: str | None) -> list[Device]:
    """By number, in the order of nvidia-smi, or by (the beginning of) the UUID of a GPU or slice, as CUDA reads it: an entry
    that means nothing hides all that follow it. A GPU in MIG mode stands for all of its slices."""
    if visible is None:
        return [device for _, parts in gpus for device in parts]
    chosen: list[Device] = []
    for word in (word.strip() for word in visible.split(",")):
        meant = _meant(gpus, word)
        if len(meant) != 1:
            break
        chosen += meant[0]
    return list(dict.fromkeys(chosen))


def _meant(gpus: Gpus, word: str) -> list[list[Device]]:
    if word.isascii() and word.isdigit():
        return [parts for _, parts in gpus[int(word) : int(word) + 1]]
    if word.startswith("MIG-"):
        return [[part] for _, parts in gpus for part in parts if part.id.startswith(word)]
    return [parts for uuid, parts in gpus if word and uuid.startswith(word)]
