"""`python -m trainyard.converter.serving --repository DIR --port N`: serve a model repository on loopback."""

from __future__ import annotations

import argparse
import ctypes
import signal
import sys
from pathlib import Path

import uvicorn

from trainyard.common.errors import TrainyardError
from trainyard.common.runtime import logging
from trainyard.common.runtime.run import listen
from trainyard.common.runtime.settings import is_loopback
from trainyard.converter.serving.application import create
from trainyard.converter.serving.models import Repository

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--explicit", action="store_true", help="load models only when asked to")
    parser.add_argument("--with-parent", action="store_true", help="end when the process that started this one ends")
    options = parser.parse_args()
    if options.with_parent and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not options.repository.is_dir():
        parser.error(f"there is no folder {options.repository}")
    if not is_loopback(options.host):
        parser.error(f"{options.host} can be reached from other machines, and this server asks for no credentials")
    logging.configure("serving")
    repository = Repository(options.repository)
    if not options.explicit:
        repository.load_all()
    try:
        listener = listen(options.host, options.port)
    except TrainyardError as error:
        parser.error(str(error))
    server = uvicorn.Server(uvicorn.Config(create(repository), log_config=None, lifespan="off", access_log=False))
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
