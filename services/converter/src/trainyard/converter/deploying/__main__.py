"""`python -m trainyard.converter.deploying deploy|compare`: what `yard deploy` and `yard compare` start."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trainyard.common.errors import InvalidInput, TrainyardError, Unavailable
from trainyard.converter.deploying import comparing, model
from trainyard.converter.deploying.comparing import Compared
from trainyard.converter.deploying.deployment import Deployed, deploy
from trainyard.converter.deploying.places import place
from trainyard.converter.deploying.server import connect

_CODES: tuple[tuple[type[TrainyardError], int], ...] = ((InvalidInput, 4), (Unavailable, 5), (TrainyardError, 1))
"""As the yard command's own."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="yard")
    commands = parser.add_subparsers(required=True)
    for name, function in (("deploy", _deploy), ("compare", _compare)):
        command = commands.add_parser(name)
        command.set_defaults(run=function)
        command.add_argument("--server", required=True)
        command.add_argument("--json", action="store_true")
        if name == "deploy":
            command.add_argument("--conversion", type=Path, required=True)
            command.add_argument("--name")
            command.add_argument("--repository", type=Path)
            command.add_argument("--keep", type=int, default=1)
        else:
            command.add_argument("model")
            command.add_argument("versions", type=int, nargs=2)
            command.add_argument("--inputs", type=Path, required=True)
            command.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    run: Callable[[argparse.Namespace], tuple[Any, str]] = options.run
    try:
        result, words = run(options)
    except TrainyardError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(next(code for kind, code in _CODES if isinstance(error, kind)))
    sys.stdout.write((json.dumps(asdict(result)) if options.json else words) + "\n")


def _deploy(options: argparse.Namespace) -> tuple[Deployed, str]:
    converted = model.read(options.conversion)
    with connect(options.server) as server:
        where = place(server, options.repository)
        found = deploy(server, where, converted, options.name or converted.name, options.keep, _progress)
    before = f"in place of {', '.join(map(str, found.before))}" if found.before else "where nothing was"
    return found, (
        f"{found.name} version {found.version} is served by {found.server}, {before}; "
        f"it answers the framework's numbers within {found.max_abs_error:.1e}, in {found.seconds * 1000:.1f} ms"
    )


def _compare(options: argparse.Namespace) -> tuple[Compared, str]:
    inputs = comparing.read(options.inputs)
    with connect(options.server) as server:
        found = comparing.compare(server, options.model, tuple(options.versions), inputs, options.requests)
    lines = [
        f"{found.name} at {found.server}, versions {found.versions[0]} and {found.versions[1]} on the same requests"
    ]
    for item in found.differences:
        same = "" if item.argmax_agreement is None else f", the same class in {item.argmax_agreement:.1%} of the rows"
        lines.append(
            f"  {item.output}: equal in {item.equal} of {item.requests}, {item.max_abs:.2e} apart at most, "
            f"{item.mean_abs:.2e} in the mean{same}" + (f" ({item.fault})" if item.fault else "")
        )
    for version, latency in zip(found.versions, found.latency, strict=True):
        p50, p99 = latency.p50 * 1000, latency.p99 * 1000
        lines.append(f"  version {version}: p50 {p50:.2f} ms, p99 {p99:.2f} ms over {latency.requests} requests")
    return found, "\n".join(lines)


def _progress(words: str) -> None:
    sys.stderr.write(f"{words}\n")


if __name__ == "__main__":
    main()
