"""Where the API server is and who we are: from a kubeconfig, or as the pod that this runs in.

The official client's library does what a kubeconfig says, credential helpers and all; that a kubeconfig can be meant is
checked before (`core/cluster/kubeconfig`). A helper that fails is not told by the library, which goes on as nobody: so what
came of it is looked at here.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.kube_config import ConfigNode

from trainyard.common.errors import InvalidInput
from trainyard.launcher.core.cluster import kubeconfig as kubeconfigs
from trainyard.launcher.core.cluster.kubeconfig import Chosen, Exec, wrong

PATIENCE = 60.0  # seconds for a credential helper, which may ask others itself
_TOKEN = "BearerToken"  # noqa: S105 - the name that the library has for it


async def client(kubeconfig: str | None, context: str | None) -> tuple[ApiClient, str]:
    """Also: who that is, in words. Raises InvalidInput when there is no cluster to reach."""
    configuration = Configuration()
    # What is tried again, and when, is decided above. Not 0: aiohttp-retry counts up from one and would never come to it.
    configuration.retries = None
    # As many connections as there are requests under way: with its limit of 100 so many logs that are followed keep out
    # everything else, the lease too. How many there are is bounded by those who ask.
    configuration.connection_pool_maxsize = 0
    if kubeconfig:
        return await _of_file(kubeconfig, context, configuration)
    try:
        load_incluster_config(client_configuration=configuration)
        return ApiClient(configuration), "this pod's service account"
    except (ConfigException, OSError, ValueError) as error:
        hint = "name a kubeconfig, or start the launcher as a pod of the cluster"
        raise InvalidInput.one(f"there is no cluster to reach: {error}", kubeconfigs.PLACE, hint) from error


async def _of_file(named: str, context: str | None, configuration: Configuration) -> tuple[ApiClient, str]:
    files = await asyncio.to_thread(_read, named)
    where = os.pathsep.join(files)
    chosen = kubeconfigs.choose({path: kubeconfigs.parse(path, content) for path, content in files.items()}, context)
    try:
        async with asyncio.timeout(PATIENCE):
            await load_kube_config(where, chosen.context, configuration, persist_config=False)
            await _check(where, chosen, configuration)
        made = ApiClient(configuration)
    except InvalidInput:
        raise
    except TimeoutError:
        raise wrong(
            where, f"has no credentials for {chosen.user!r} after {PATIENCE:g} s", _say(chosen.helper)
        ) from None
    except Exception as error:  # the library's own checks are few: what is broken shows as an error of any kind
        what = " ".join(str(error).split()) or type(error).__name__
        raise wrong(where, f"cannot be used: {what}", "its certificates and tokens must be there and whole") from error
    return made, f"user {chosen.user!r} of {where}"


def _read(named: str) -> dict[str, bytes]:
    """Those of the files that are there, by their paths: one of several is enough, as for kubectl."""
    files = [os.path.expanduser(part) for part in named.split(os.pathsep) if part]  # noqa: PTH111 - raises for no user
    there = [Path(path) for path in files if os.path.exists(path)]  # noqa: PTH110 - raises for a path of any length
    if not there:
        raise InvalidInput.one(f"there is no file {named}", kubeconfigs.PLACE, "it says how to reach the cluster")
    return {str(path): _content(path) for path in there}


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise wrong(str(path), "is a folder", "a kubeconfig is a file, such as ~/.kube/config")
    try:
        return path.read_bytes()
    except OSError as error:
        raise wrong(
            str(path), f"cannot be read: {error.strerror}", "the file must be readable for this user"
        ) from error


async def _check(where: str, chosen: Chosen, configuration: Configuration) -> None:
    """That there are credentials, and such as can be sent. Raises InvalidInput."""
    token = configuration.api_key.get(_TOKEN)
    if token is not None:
        token = configuration.api_key[_TOKEN] = token.strip()  # a token's file ends with the end of its line
        if not token.isprintable():
            raise wrong(where, f"has a token for {chosen.user!r} with characters that no token has", "copy it again")
    elif chosen.helper is not None and configuration.cert_file is None:
        why = await _ask(chosen.helper)
        raise wrong(
            where, f"has no credentials for {chosen.user!r}: {chosen.helper.command} {why}", _say(chosen.helper)
        )


async def _ask(helper: Exec) -> str:
    """Why a helper gives nothing, which the library has kept for itself: it is asked once more."""
    env = [one.model_dump() for one in helper.env or ()]
    document = {"command": helper.command, "apiVersion": helper.version, "args": list(helper.args or ()), "env": env}
    try:
        await ExecProvider(ConfigNode("exec", document)).run()
    except ConfigException as error:  # `exec: process returned 1. b'You are not logged in'`
        return " ".join(str(error).removeprefix("exec: ").replace(". b'", ": ").rstrip("'").replace("\\n", " ").split())
    except OSError as error:
        return f"cannot be started: {error.strerror}"
    return "gave neither a token nor a certificate"


def _say(helper: Exec | None) -> str:
    return f"run {helper.command} by hand to see what it says" if helper is not None else ""
