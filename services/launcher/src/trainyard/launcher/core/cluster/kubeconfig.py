"""What a kubeconfig says, checked before the client's library believes it: that one looks at hardly anything, and what is
broken shows as any of Python's errors, or not at all. Pure.

Source: kubernetes.io, "kubeconfig (v1)". Of several files the first one counts that says something, as for kubectl.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from trainyard.common.contract.explain import validate
from trainyard.common.errors import InvalidInput, Problem

PLACE = "KUBECONFIG"
_HINT = "it lists clusters, users and contexts; --kubeconfig or KUBECONFIG names another file"
_SERVER = "an address such as https://10.0.0.1:6443"
_SHAPES = {list: "a list", str: "text", int: "a number"}

T = TypeVar("T")


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Cluster(_Part):
    server: str
    insecure: StrictBool = Field(default=False, alias="insecure-skip-tls-verify")


class Variable(_Part):
    name: str
    value: str


class Exec(_Part):
    """A program that gives the credentials."""

    command: str
    version: str = Field(alias="apiVersion")
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None


class User(_Part):
    token: str | None = None
    token_file: str | None = Field(default=None, alias="tokenFile")
    username: str | None = None
    password: str | None = None
    exec: Exec | None = None


class Context(_Part):
    cluster: str
    user: str | None = None


class NamedCluster(_Part):
    name: str
    cluster: Cluster


class NamedUser(_Part):
    name: str
    user: User


class NamedContext(_Part):
    name: str
    context: Context


class Kubeconfig(_Part):
    clusters: tuple[NamedCluster, ...] | None = None
    users: tuple[NamedUser, ...] | None = None
    contexts: tuple[NamedContext, ...] | None = None
    current: str | None = Field(default=None, alias="current-context")


@dataclass(frozen=True, slots=True)
class Chosen:
    context: str
    user: str
    helper: Exec | None
    """The program that gives the user's credentials."""


def parse(path: str, content: bytes) -> Kubeconfig:
    """Raises InvalidInput, with the first thing that is wrong."""
    try:
        document = yaml.safe_load(content.decode())
    except UnicodeDecodeError:
        raise wrong(path, "is no text") from None
    except yaml.MarkedYAMLError as error:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark is not None else ""
        raise wrong(path, f"is no YAML: {error.problem}{line}") from None
    except (yaml.YAMLError, RecursionError, ValueError):  # characters that no YAML has; a date that is none
        raise wrong(path, "is no YAML") from None
    if document is None:
        raise wrong(path, "is empty")
    if not isinstance(document, dict):
        raise wrong(path, f"is no kubeconfig but {_SHAPES.get(type(document), 'something else')}")
    try:
        return validate(Kubeconfig, document)
    except InvalidInput as error:
        first = error.problems[0]
        # What a user has there may be a password or a token, and this is read in logs.
        what = first.what.partition(", not ")[0] if first.where.startswith("users") else first.what
        raise wrong(path, f"cannot be used: {first.where} {what}", first.hint) from None


def choose(files: Mapping[str, Kubeconfig], named: str | None) -> Chosen:
    """`files`: by their paths; `named`: a context, absent: the current one. Raises InvalidInput."""
    where = ", ".join(files)
    contexts = _first((one.name, one.context) for file in files.values() for one in file.contexts or ())
    name = named or next((file.current for file in files.values() if file.current), None)
    known = f"there are: {', '.join(sorted(contexts))}" if contexts else _HINT
    if name is None:
        raise wrong(where, "names no current context", f"`kubectl config use-context NAME`; {known}")
    if name not in contexts:
        raise wrong(where, f"has no context {name!r}", known)
    context = contexts[name]
    clusters = _first((one.name, one.cluster) for file in files.values() for one in file.clusters or ())
    if context.cluster not in clusters:
        raise wrong(where, f"has no cluster {context.cluster!r}, which its context {name!r} names", _known(clusters))
    _check_server(where, context.cluster, clusters[context.cluster].server)
    users = _first((one.name, one.user) for file in files.values() for one in file.users or ())
    if not context.user:
        raise wrong(where, f"says in its context {name!r} no user", _known(users))
    if context.user not in users:
        raise wrong(where, f"has no user {context.user!r}, whom its context {name!r} names", _known(users))
    return Chosen(name, context.user, users[context.user].exec)


def wrong(path: str, what: str, hint: str = "") -> InvalidInput:
    return InvalidInput([Problem(f"{path} {what}", PLACE, hint or _HINT)])


def _first(found: Iterable[tuple[str, T]]) -> dict[str, T]:
    """By name; of several the first one."""
    known: dict[str, T] = {}
    for name, item in found:
        known.setdefault(name, item)
    return known


def _known(names: Mapping[str, object]) -> str:
    return f"there are: {', '.join(sorted(names))}" if names else "there is none"


def _check_server(where: str, cluster: str, server: str) -> None:
    try:
        parts = urlsplit(server)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        good = good and server.isprintable() and " " not in server
    except ValueError:  # a port that is no number
        good = False
    if not good:
        raise wrong(where, f"has the server {server!r} for cluster {cluster!r}, which is no address", _SERVER)
