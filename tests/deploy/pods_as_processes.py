"""The pods of the chart as processes of this machine, for tests where there is no kubelet.

A process gets the command and the variables of its rendered pod and nothing else. What a kubelet and the network would give
is put in its place: folders for volumes, ports of loopback for Services, a kubeconfig of the ServiceAccount's rights.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from trainyard.common.runtime.credentials import Tokens
from trainyard.common.runtime.settings import SERVICES, nats_port, service_port

Document = dict[str, Any]


class Pods:
    def __init__(self, folder: Path, documents: list[Document], base: int, kubeconfig: Path, password: str) -> None:
        self.folder, self.base = folder, base
        self._kubeconfig = kubeconfig
        self._password = password
        self._by_name = {(item["kind"], item["metadata"]["name"]): item for item in documents}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.token = Tokens(folder / "secret" / "tokens.json").create("ann")

    def start(self) -> None:
        (self.folder / "files").mkdir()
        for name, text in self._by_name["ConfigMap", "trainyard-files"]["data"].items():
            (self.folder / "files" / name).write_text(text)
        self._start_nats()
        for name in SERVICES:
            self._start(name)
        deadline = time.monotonic() + 60
        while waiting := [name for name in SERVICES if not self._ready(name)]:
            assert time.monotonic() < deadline, f"{waiting} are not ready: {self.said(waiting[0])}"
            time.sleep(0.1)

    def stop(self) -> None:
        """NATS last: what the services have in hand goes there."""
        nats = self._running.pop("nats")
        for processes in (list(self._running.values()), [nats]):
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.out").read_text()[-3000:]

    def environment(self, name: str) -> dict[str, str]:
        """As the kubelet would make it, with what lies elsewhere here."""
        pod = self._by_name["Deployment", f"trainyard-{name}"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        shared = self._by_name["ConfigMap", container["envFrom"][0]["configMapRef"]["name"]]["data"]
        env = {**shared, **{item["name"]: self._value(item) for item in container["env"]}}
        places = {}
        for mount in container["volumeMounts"]:
            place = self.folder / (f"state-{name}" if mount["name"] == "state" else mount["name"])
            place.mkdir(exist_ok=True)
            places[mount["mountPath"]] = str(place)
        env = {key: _moved(value, places) for key, value in env.items()}
        env["NATS_URL"] = f"nats://127.0.0.1:{nats_port(self.base)}"
        env["TRAINYARD_BASE_PORT"] = str(self.base)
        for variable in {"TRAINYARD_LISTEN", "TRAINYARD_HEALTH_LISTEN"} & set(env):
            env[variable] = "127.0.0.1"
        if "TRAINYARD_API_URL" in env:
            env["TRAINYARD_API_URL"] = f"http://127.0.0.1:{service_port('job-api', self.base)}"
        if pod["automountServiceAccountToken"]:
            env["TRAINYARD_KUBECONFIG"] = str(self._kubeconfig)
        return env

    def _value(self, item: Mapping[str, Any]) -> str:
        if "value" in item:
            return str(item["value"])
        source = item["valueFrom"]
        if "secretKeyRef" in source:
            assert source["secretKeyRef"] == {"name": "trainyard", "key": "nats-password"}
            return self._password
        return {"metadata.name": "launcher-0", "spec.nodeName": "node-0"}[source["fieldRef"]["fieldPath"]]

    def _start(self, name: str) -> None:
        (container,) = self._by_name["Deployment", f"trainyard-{name}"]["spec"]["template"]["spec"]["containers"]
        python, *rest = container["command"]
        assert python == "python"
        self._run(name, [sys.executable, *rest], self.environment(name))

    def _start_nats(self) -> None:
        config = self.folder / "nats.conf"
        config.write_text(
            f"listen: 127.0.0.1:{nats_port(self.base)}\njetstream {{ store_dir: {json.dumps(str(self.folder / 'js'))} }}\n"
            f"authorization {{ user: trainyard, password: $NATS_PASSWORD }}\n"
        )
        server = str(Path(sys.executable).with_name("nats-server"))
        self._run("nats", [server, "-c", str(config)], {"NATS_PASSWORD": self._password})

    def _run(self, name: str, command: list[str], env: Mapping[str, str]) -> None:
        with (self.folder / f"{name}.out").open("wb") as out:
            self._running[name] = subprocess.Popen(command, env=dict(env), cwd=self.folder, stdout=out, stderr=out)

    def _ready(self, name: str) -> bool:
        assert self._running[name].poll() is None, f"{name} ended: {self.said(name)}"
        try:
            return httpx.get(f"http://127.0.0.1:{service_port(name, self.base)}/readyz").status_code == 200
        except httpx.TransportError:
            return False


def _moved(value: str, places: Mapping[str, str]) -> str:
    """A path below a mount is one below the folder that stands for it."""
    for mount, place in places.items():
        if value == mount or value.startswith(f"{mount}/"):
            return place + value[len(mount) :]
    return value
