"""Pods without a cluster: the runner as a real process, from the zip, with the plan that the launcher made of a job."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trainyard.launcher.adapters.worker_files import worker_files
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, build, planned
from trainyard.launcher.core.manifests.worker import package


@dataclass
class RunningPod:
    process: subprocess.Popen[bytes]
    termination: Path

    def end(self, within: float = 30) -> tuple[int, str]:
        """Exit code and everything that it said."""
        said, _ = self.process.communicate(timeout=within)
        return self.process.returncode, said.decode()

    def told(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.termination.read_bytes())["ranks"]
        return found

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait_for(self, file: Path) -> None:
        deadline = time.monotonic() + 20
        while not file.exists():
            assert time.monotonic() < deadline, f"{file} never came"
            time.sleep(0.02)


class Pods:
    """Everything that would stand in a pod at fixed places lies below `home`; hosts are this machine."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.zip = home / "worker.zip"
        self.zip.write_bytes(package(worker_files()).data)
        self.port = _free_port()
        self.archive = b""
        """What stands where a job's folder is mounted."""
        self._started: list[RunningPod] = []

    def start(self, job: Job, role: str = "worker", index: int = 0, **env: str) -> RunningPod:
        made = build(job, Cluster())
        spec = next(item for item in made.rest if item["metadata"]["name"].endswith(f"-{role}"))["spec"]["template"][
            "spec"
        ]
        container = spec["containers"][0]
        plan = self.home / "plan.json.gz"
        text = gzip.decompress(base64.b64decode(made.root["binaryData"]["plan.json.gz"])).decode()
        if not plan.exists():  # another pod of the job may be reading it
            plan.write_bytes(gzip.compress(self.here(text).encode()))
        if job.spec.archive:
            (self.home / "source").mkdir(exist_ok=True)
            (self.home / "source" / "source.zip").write_bytes(self.archive)
        termination = self.home / f"termination-{role}-{index}"
        environment = {item["name"]: self.here(item["value"]).replace("$$", "$") for item in container["env"]}
        environment |= {
            "PATH": os.environ["PATH"],
            "TRAINYARD_PLAN": str(plan),
            "TRAINYARD_TERMINATION_LOG": str(termination),
            "JOB_COMPLETION_INDEX": str(index),
            **env,
        }
        process = subprocess.Popen(
            [sys.executable, *container["command"][1:]],
            env={name: value for name, value in environment.items() if value},
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._started.append(RunningPod(process, termination))
        return self._started[-1]

    def here(self, text: str) -> str:
        text = text.replace(planned.WORKER, str(self.zip)).replace(planned.HOME, str(self.home))
        text = re.sub(r"[a-z0-9-]+\.[a-z0-9-]+\.default\.svc\.cluster\.local", "127.0.0.1", text)
        return text.replace(str(planned.PORT), str(self.port)).replace(planned.INTERFACE, "lo")

    def close(self) -> None:
        for pod in self._started:
            if pod.process.poll() is None:
                pod.process.kill()
                pod.process.communicate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    made = Pods(tmp_path)
    yield made
    made.close()


@pytest.fixture
def shell(job: Callable[..., Job]) -> Callable[..., Job]:
    """A job whose ranks run a line of sh."""

    def make(line: str, **changes: Any) -> Job:
        return job(command=["sh", "-c", line], **{"framework": "pytorch", **changes})

    return make
