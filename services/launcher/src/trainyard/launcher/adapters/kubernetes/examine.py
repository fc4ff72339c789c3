"""What a cluster offers, as a JSON list of findings on stdout.

`python -m trainyard.launcher.adapters.kubernetes.examine jobs|installation`: a program of its own, so that the command line
tool needs no Kubernetes client, and works before anything is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys

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


def main() -> int:
    logging.disable(logging.CRITICAL)  # what the client says for itself would stand between our lines
    parser = argparse.ArgumentParser(prog="python -m trainyard.launcher.adapters.kubernetes.examine")
    parser.add_argument("purpose", choices=PURPOSES)
    parser.add_argument("--kubeconfig", help="absent: the cluster that this runs in")
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
