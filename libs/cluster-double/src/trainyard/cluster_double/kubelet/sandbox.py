"""Containers as real processes of this machine, each in a mount namespace of its own: for tests that train on a cluster.

What a pod mounts stands where it would in a container; the file system below it, the network and the user are this
machine's. Pods find one another by the names that a headless Service gives them, each at an address of its own on loopback.
It needs root, and `unshare` and `mount` of Linux.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from trainyard.cluster_double.core.objects import Json, meta, name_of, namespace_of, spec_of, uid_of
from trainyard.cluster_double.kubelet.client import Client

HOME = Path("/trainyard")
"""Below it the launcher mounts everything of its own; an empty folder here, gone afterwards."""
_FIELD = re.compile(r"metadata\.(?P<part>labels|annotations)\['(?P<key>[^']+)'\]")
_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[A-Za-z_][A-Za-z0-9_]*)\)")
_LONGEST_LINE = 2**20


def unavailable() -> str | None:
    """Why there is no sandbox here; None: there is."""
    if os.geteuid() != 0:
        return "containers as processes need root, for mounts of their own"
    if os.system("unshare -m mount -t tmpfs tmpfs /mnt >/dev/null 2>&1") != 0:  # noqa: S605
        return "this machine does not let us mount (unshare -m)"
    return None


class Sandbox:
    """Implements script.Runner. Use it in a `with` that outlives its pods."""

    def __init__(self, folder: Path, interpreter: Path, interface: str = "lo") -> None:
        """`interpreter`: the folder with the `python` of the image; `interface`: what stands for a container's eth0."""
        self.folder = folder
        self._path = f"{interpreter}:/usr/local/bin:/usr/bin:/bin"
        self._interface = interface
        self._hosts = folder / "hosts"
        self._count = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._hosts.write_text("127.0.0.1 localhost\n")

    def __enter__(self) -> Self:
        HOME.mkdir(exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Once no container runs: to remove a folder is to unmount what stands on it elsewhere."""
        with contextlib.suppress(OSError):
            HOME.rmdir()

    def claim(self, name: str) -> Path:
        """What stands for a PersistentVolumeClaim."""
        return self.folder / "claims" / name

    async def run(self, pod: Json, client: Client, say: Callable[[str], None], stop: asyncio.Event) -> tuple[int, str]:
        place = self.folder / uid_of(pod)
        place.mkdir(parents=True, exist_ok=True)
        termination = place / "termination-log"
        sources = {item["name"]: await self._source(item, pod, client, place) for item in spec_of(pod)["volumes"]}
        container = spec_of(pod)["containers"][0]
        env = {**dict(_variables(container, pod)), "PATH": self._path, "TRAINYARD_TERMINATION_LOG": str(termination)}
        env = {name: self._interface if value == "eth0" else value for name, value in env.items()}
        self._name(pod)
        command = [_expanded(word, env) for word in [*container["command"], *container.get("args", ())]]
        process = await asyncio.create_subprocess_exec(
            *("unshare", "-m", "--propagation", "private", "sh", "-ec", self._mounts(container, sources), "sh", *command),
            env=env, cwd=container.get("workingDir") or "/", stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True, limit=_LONGEST_LINE,
        )  # fmt: skip
        ending = asyncio.create_task(
            _end(process, stop, float(spec_of(pod).get("terminationGracePeriodSeconds") or 30))
        )
        try:
            assert process.stdout is not None  # noqa: S101
            async for line in process.stdout:
                say(line.decode(errors="replace").rstrip("\n"))
            code = await process.wait()
        finally:
            ending.cancel()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        return code if code >= 0 else 128 - code, termination.read_text() if termination.exists() else ""

    def _mounts(self, container: Json, sources: dict[str, Path]) -> str:
        """A shell script that puts everything in place and becomes the command."""
        wanted = {
            item["mountPath"]: sources[item["name"]] for item in container["volumeMounts"] if not item.get("subPath")
        }
        lines = [f"mount --bind {shlex.quote(str(self._hosts))} /etc/hosts", f"mount -t tmpfs tmpfs {HOME}"]
        for path in sorted(wanted):
            target = shlex.quote(path)
            lines += [f"mkdir -p {target}", f"mount --bind {shlex.quote(str(wanted[path]))} {target}"]
        return "\n".join([*lines, 'exec "$@"'])

    def _name(self, pod: Json) -> None:
        """As a headless Service would: `<hostname>.<subdomain>.<namespace>.svc.cluster.local`."""
        spec = spec_of(pod)
        self._count += 1
        host = f"{spec.get('hostname') or name_of(pod)}.{spec.get('subdomain')}.{namespace_of(pod)}.svc.cluster.local"
        with self._hosts.open("a") as file:
            file.write(f"127.0.1.{self._count % 250 + 1} {host}\n")

    async def _source(self, volume: Json, pod: Json, client: Client, place: Path) -> Path:
        """What is mounted. Raises ValueError for a kind of volume that nothing here stands for."""
        folder = place / "volumes" / str(volume["name"])
        if "persistentVolumeClaim" in volume:
            folder = self.claim(str(volume["persistentVolumeClaim"]["claimName"]))
        elif "configMap" in volume:
            found = await client.request(
                "GET", f"/api/v1/namespaces/{namespace_of(pod)}/configmaps/{volume['configMap']['name']}"
            )
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in (found.get("data") or {}).items():
                (folder / name).write_text(text)
            for name, data in (found.get("binaryData") or {}).items():
                (folder / name).write_bytes(base64.b64decode(data))
        elif "emptyDir" not in volume:
            raise ValueError(f"volume {volume['name']} is of a kind that a sandbox does not have")
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _variables(container: Json, pod: Json) -> Iterator[tuple[str, str]]:
    known: dict[str, str] = {}
    for item in container.get("env") or ():
        reference = (item.get("valueFrom") or {}).get("fieldRef")
        known[item["name"]] = (
            _field(pod, reference["fieldPath"]) if reference else _expanded(item.get("value", ""), known)
        )
        yield item["name"], known[item["name"]]


def _field(pod: Json, path: str) -> str:
    found = _FIELD.fullmatch(path)
    if found is not None:
        return str((meta(pod).get(found["part"]) or {}).get(found["key"], ""))
    return {"metadata.name": name_of(pod), "metadata.namespace": namespace_of(pod)}.get(path, "")


def _expanded(text: str, known: dict[str, str]) -> str:
    """`$(NAME)` becomes its value where there is one, `$$` becomes `$`. Source: kubernetes.io, "Dependent environment"."""
    return _REFERENCE.sub(lambda found: known.get(found["name"], found[0]) if found["name"] else "$", text)


async def _end(process: asyncio.subprocess.Process, stop: asyncio.Event, grace: float) -> None:
    await stop.wait()
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        await asyncio.sleep(grace)
        os.killpg(process.pid, signal.SIGKILL)
