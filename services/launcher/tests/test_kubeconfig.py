"""What is wrong with a kubeconfig is one sentence that names the file, the fault and what would work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainyard.cluster_double.server import ClusterDouble, kubeconfig
from trainyard.common.errors import InvalidInput
from trainyard.launcher.adapters.kubernetes import discovery
from trainyard.launcher.adapters.kubernetes.api import Api

GOOD = kubeconfig("http://127.0.0.1:1")


def _with(part: str, **changes: Any) -> bytes:
    """The good one, with a cluster, user or context that is another."""
    one = {**GOOD[f"{part}s"][0], part: {**GOOD[f"{part}s"][0][part], **changes}}
    return yaml.safe_dump({**GOOD, f"{part}s": [one]}).encode()


def _without(name: str, **more: Any) -> bytes:
    return yaml.safe_dump({**{key: value for key, value in GOOD.items() if key != name}, **more}).encode()


def _helper(command: str, *args: str) -> bytes:
    wanted = {"apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": list(args)}
    return _without("users", users=[{"name": "tester", "user": {"exec": wanted}}])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"# nothing\n", "is empty"),
        (b"- a\n- b\n", "is no kubeconfig but a list"),
        (b"hello", "is no kubeconfig but text"),
        (b"\xff\xfe\x00binary", "is no text"),
        (b"a: \x00b", "is no YAML"),
        (b"a: [1\nb: }", "is no YAML: "),
        (b"when: 2026-99-99", "is no YAML"),
        (b"a: " + b"[" * 5000, "is no YAML"),
        (_with("cluster", server=5), "clusters.0.cluster.server must be text, not 5"),
        (_with("cluster", server="notaurl"), "the server 'notaurl' for cluster 'double', which is no address"),
        (_with("cluster", server="https://"), "which is no address (an address such as https://"),
        (_with("cluster", server="https://host:port"), "which is no address"),
        (_with("cluster", server="https://a b:6443"), "which is no address"),
        (_with("cluster", server="https://a\nb:6443"), "which is no address"),
        (_with("cluster", **{"insecure-skip-tls-verify": "no"}), "insecure-skip-tls-verify must be true or false"),
        (_with("cluster", server="https://h", **{"certificate-authority": "/no/ca"}), "/no/ca"),
        (_with("cluster", server="https://h", **{"certificate-authority-data": "%"}), "cannot be used"),
        (_with("cluster", server="https://h", **{"certificate-authority-data": "aGVsbG8="}), "cannot be used"),
        (_with("user", token=5), "users.0.user.token must be text ("),
        (_with("user", token="a\nb"), "a token for 'tester' with characters that no token has"),
        (_without("current-context"), "names no current context (`kubectl config use-context NAME`; there are: double)"),
        (_without("contexts"), "has no context 'double'"),
        (_without("contexts", contexts={"a": 1}), "contexts must be a list"),
        (_without("contexts", contexts=[5]), "contexts.0 must be a mapping"),
        (_without("clusters"), "has no cluster 'double', which its context 'double' names (there is none)"),
        (_without("users"), "has no user 'tester', whom its context 'double' names"),
        (_with("context", user=None), "says in its context 'double' no user (there are: tester)"),
        (_helper("/no/such/helper"), "/no/such/helper cannot be started: No such file"),
        (_helper("sh", "-c", "echo please log in >&2; exit 3"), "sh process returned 3: please log in"),
        (_helper("echo", "hello"), "echo failed to decode process output"),
        (_helper("echo", "{}"), "echo malformed response"),
    ],
)  # fmt: skip
async def test_a_kubeconfig_that_cannot_be_used(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        await Api.connect(str(path))
    said = str(raised.value)
    assert said.startswith(f"KUBECONFIG: {path} ")
    assert words in said
    assert said.endswith(")")  # what would work
    assert "\n" not in said


@pytest.mark.parametrize(
    "users", [{"me": {"token": "s3cret"}}, [{"name": "me", "user": {"token": ["s3cret"]}}], "s3cret"]
)
async def test_no_credentials_are_told(tmp_path: Path, users: Any) -> None:
    """Whoever writes the file by hand misplaces a token easily, and what is wrong with the file is read in logs."""
    path = tmp_path / "config"
    path.write_bytes(_without("users", users=users))
    with pytest.raises(InvalidInput, match=r"cannot be used: users\S* must be") as raised:
        await Api.connect(str(path))
    assert "s3cret" not in str(raised.value)


async def test_a_folder_a_file_that_is_not_there_and_a_context_that_is_not() -> None:
    with pytest.raises(InvalidInput, match="there is no file /no/where"):
        await Api.connect("/no/where")
    with pytest.raises(InvalidInput, match="there is no file ~nobody-here/config"):
        await Api.connect("~nobody-here/config")
    with pytest.raises(InvalidInput, match="there is no file /tmp/xxx"):
        await Api.connect(f"/tmp/{'x' * 5000}")
    with pytest.raises(InvalidInput, match="/tmp is a folder"):
        await Api.connect("/tmp")
    with pytest.raises(InvalidInput, match="/proc/self/mem cannot be read: Input/output error"):  # also for root
        await Api.connect("/proc/self/mem")


async def test_of_several_files_those_count_that_are_there(tmp_path: Path) -> None:
    with ClusterDouble() as double:
        path = double.kubeconfig(tmp_path)
        api = await Api.connect(f"/no/where{os.pathsep}{path}")
        try:
            assert "batch/v1" in await discovery.groups(api)
        finally:
            await api.close()
        with pytest.raises(InvalidInput, match="has no context 'other'"):
            await Api.connect(str(path), context="other")


async def test_a_token_from_a_file_that_ends_as_files_do(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    with ClusterDouble() as double:
        document = {**kubeconfig(double.url), "users": [{"name": "tester", "user": {"tokenFile": "token"}}]}
        (tmp_path / "config").write_text(yaml.safe_dump(document))
        api = await Api.connect(str(tmp_path / "config"))
        try:
            assert "batch/v1" in await discovery.groups(api)
        finally:
            await api.close()
