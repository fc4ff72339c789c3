"""`python -m trainyard.launcher.examine jobs|installation`: what a cluster offers, as a JSON list of findings on stdout.

A program of its own, so that the command line tool needs no Kubernetes client, and works before anything is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.launcher.adapters.kubernetes import surveying
from trainyard.launcher.adapters.kubernetes.api import Api, Refused
from trainyard.launcher.core.cluster import advice, rights

EXITS = ((InvalidInput, 2), (Refused, 3), (TrainyardError, 1))
"""Nothing that can be reached; reached, and turned away; no answer."""
PURPOSES = {"jobs": (advice.of_jobs, rights.LAUNCHER), "installation": (advice.of_installation, rights.INSTALLER)}


async def examine(purpose: str, kubeconfig: str | None, context: str | None, namespace: str) -> list[dict[str, str]]:
    """Raises InvalidInput without a cluster, Unavailable when it does not answer, Refused when it knows nobody."""
    advise, needs = PURPOSES[purpose]
    api = await Api.connect(kubeconfig, context=context)
    try:
        survey = await surveying.look(api, namespace, needs)
    finally:
        await api.close()
    return [finding.model_dump() for finding in advise(survey)]


def _kubeconfig(env: Mapping[str, str]) -> str | None:
    """Where kubectl looks too. None: in a pod, whose account speaks for itself."""
    named = env.get("TRAINYARD_KUBECONFIG") or env.get("KUBECONFIG")
    return named or (None if "KUBERNETES_SERVICE_HOST" in env else str(Path.home() / ".kube" / "config"))


def main() -> int:
    logging.disable(logging.CRITICAL)  # what the client says for itself would stand between our lines
    parser = argparse.ArgumentParser(prog="python -m trainyard.launcher.examine")
    parser.add_argument("purpose", choices=PURPOSES)
    parser.add_argument("--kubeconfig", default=_kubeconfig(os.environ))
    parser.add_argument("--context")
    parser.add_argument("--namespace", required=True)
    options = parser.parse_args()
    try:
        found = asyncio.run(examine(options.purpose, options.kubeconfig, options.context, options.namespace))
    except TrainyardError as error:
        sys.stderr.write(f"{error}\n")
        return next(code for kind, code in EXITS if isinstance(error, kind))
    sys.stdout.write(f"{json.dumps(found)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
