"""The processes of bench_launcher_scale.py: nats-server, the cluster's double (or a given control plane), the launcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
from scale_kubelet import Played

from trainyard.common.runtime.settings import SERVICES
from trainyard.common.testing.nats_server import NatsServer
from trainyard.common.testing.yard import free_block


class World:
    def __init__(self, folder: Path, kubeconfig: Path, nats: NatsServer, played: Played) -> None:
        self.kubeconfig = kubeconfig
        self.nats = nats
        self.played = played
        self.logs = folder / "state" / "logs"
        self.double: int | None = None
        """The process of the cluster's double; None on a control plane."""
        self._folder = folder
        self._port = free_block(len(SERVICES) + 1)
        self._process: subprocess.Popen[bytes] | None = None

    def start_launcher(self) -> None:
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("TRAINYARD_", "NATS_"))},
            "TRAINYARD_STATE": str(self._folder / "state"),
            "TRAINYARD_BASE_PORT": str(self._port),
            "TRAINYARD_BACKEND": "kubernetes",
            "TRAINYARD_KUBECONFIG": str(self.kubeconfig),
            "TRAINYARD_MEMBER": "scale",
            "TRAINYARD_LOG_LEVEL": "warning",
            "NATS_URL": self.nats.url,
            "PROBE_FILE": str(self._folder / "probe.json"),
        }
        probe = Path(__file__).with_name("launcher_probe.py")
        with (self._folder / "launcher.log").open("wb") as out:
            self._process = subprocess.Popen([sys.executable, str(probe)], env=env, stdout=out, stderr=out)

    def ready(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise AssertionError((self._folder / "launcher.log").read_text()[-3000:])
        url = f"http://127.0.0.1:{self._port + SERVICES.index('launcher')}/readyz"
        try:
            return httpx.get(url, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def launcher(self) -> dict[str, float]:
        """Its resident memory at its highest, in MiB, and the processor's seconds that it has had."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        times = psutil.Process(self._process.pid).cpu_times()
        return {"mib": round(peak / 1024, 1), "cpu": times.user + times.system}

    def stop_launcher(self) -> dict[str, Any]:
        """Gives the probe's notes."""
        assert self._process is not None
        process, self._process = self._process, None
        end(process)
        notes: dict[str, Any] = json.loads((self._folder / "probe.json").read_text())
        complaints = (self._folder / "launcher.log").read_text(errors="replace").splitlines()
        return {**notes, "complaints": complaints}

    def close(self) -> None:
        if self._process is not None:
            end(self._process)


@contextmanager
def world(folder: Path, kubeconfig: Path | None) -> Iterator[World]:
    with ExitStack() as stack:
        double = None
        if kubeconfig is None:
            kubeconfig = folder / "kubeconfig"
            script = Path(__file__).with_name("scale_double.py")
            double = subprocess.Popen([sys.executable, str(script), str(folder)], stdout=subprocess.PIPE)
            stack.callback(end, double)
            assert double.stdout is not None
            assert double.stdout.readline(), "the double did not start"
        nats = NatsServer(folder / "nats")
        nats.start()
        stack.callback(nats.stop)
        played = stack.enter_context(Played(kubeconfig))
        made = World(folder, kubeconfig, nats, played)
        made.double = double.pid if double is not None else None
        stack.callback(made.close)
        yield made


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
