"""`yard up | down | doctor | version`: the yard on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from trainyard.client import examination, files
from trainyard.client.cli import examining, exits, output, summary
from trainyard.client.cli.context import AsJson
from trainyard.client.cli.watching import watch_job
from trainyard.client.sdk import Yard
from trainyard.client.yard import doctor as here
from trainyard.client.yard import preflight
from trainyard.client.yard.layout import Layout
from trainyard.client.yard.record import Record, end, is_held
from trainyard.client.yard.supervisor import GRACE, START_TIMEOUT, Supervisor, is_ready
from trainyard.common.errors import TrainyardError
from trainyard.common.version import VERSION


def up(
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Go to the background once it is ready.")] = False,
    run: Annotated[
        Path | None, typer.Option("--run", help="Submit this job file then, and show it to its end.")
    ] = None,
) -> None:
    """Start nats-server and the five services, and keep them alive until Ctrl-C."""
    layout = Layout.read(os.environ)
    preflight.state_folder(layout.state)
    if is_held(layout.lock):
        output.console.print(f"the yard is up already: {layout.url('job-api')}; other settings count after `yard down`")
    elif detach:
        _detach(layout)
    else:
        asyncio.run(_foreground(layout, run))
        return
    if run is not None:
        raise typer.Exit(_run_job(layout, run))


def down() -> None:
    """Stop the yard on this machine. Jobs that run go on, and are found again by the next `yard up`."""
    layout = Layout.read(os.environ)
    record = Record(layout.record)
    held = is_held(layout.lock)
    processes = record.living()
    if held and "yard" in processes:
        end({"yard": processes["yard"]}, GRACE * 2 + 5)
    leftovers = record.living()
    end(leftovers, GRACE)
    record.remove()
    output.console.print("the yard is down" if held or leftovers else "no yard was up")


def doctor(
    as_json: AsJson = False,
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Look at the cluster that jobs would run on, too.")
    ] = False,
    kubeconfig: examining.Kubeconfig = None,
    context: examining.InContext = None,
    namespace: examining.InNamespace = None,
) -> None:
    """Look at everything that a yard needs on this machine, and say what is missing."""
    findings = here.examine(Layout.read(os.environ))
    if kubernetes:
        findings += examination.examine("jobs", examination.Where.read(os.environ, kubeconfig, context, namespace))
    examining.show(findings, as_json=as_json)


def version(as_json: AsJson = False) -> None:
    """The version of this command."""
    if as_json:
        output.as_json({"version": VERSION, "python": sys.version.split()[0]})
    else:
        output.console.print(f"yard {VERSION}")


def register(app: typer.Typer) -> None:
    for command in (up, down, doctor, version):
        app.command(command.__name__)(command)


def _run_job(layout: Layout, file: Path) -> int:
    """Submit, watch, summarise; gives the exit code."""
    with Yard(layout.url("job-api")) as gateway:
        job = watch_job(gateway, gateway.submit(files.read(file)))
    summary.show(job, layout)
    return exits.of_job(job)


async def _foreground(layout: Layout, run: Path | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)

    def work(file: Path) -> None:
        try:
            _run_job(layout, file)
        except (TrainyardError, TimeoutError) as error:
            output.error(error)
        output.console.print("the services stay up until Ctrl-C")

    def ready() -> None:
        output.console.print(f"the yard is up: API {layout.url('job-api')}, panel {layout.url('monitor')}")
        if run is not None:
            # A thread of its own that nobody waits for: Ctrl-C in the middle must not wait for the job.
            threading.Thread(target=work, args=(run,), daemon=True).start()

    await Supervisor(layout, lambda text: output.errors.print(text, markup=False)).run(stop, ready)


def _detach(layout: Layout) -> None:
    layout.logs.mkdir(parents=True, exist_ok=True)
    log_path = layout.logs / "yard.log"
    with log_path.open("ab") as log:
        start = log.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "trainyard.client", "up"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_TIMEOUT + 5
    while not asyncio.run(_all_ready(layout)):
        # Ours may have found that somebody else's `up` was faster: then theirs is waited for.
        given_up = process.poll() is not None and not is_held(layout.lock)
        if given_up or time.monotonic() > deadline:
            said = log_path.read_bytes()[start:].decode(errors="replace").strip()
            raise TrainyardError(said.removeprefix("error: ") or f"the yard did not come up: see {log_path}")
        time.sleep(0.1)
    output.console.print(f"the yard is up: API {layout.url('job-api')}, panel {layout.url('monitor')}")


async def _all_ready(layout: Layout) -> bool:
    # Another yard may answer on these ports: only processes of this state folder count.
    living = Record(layout.record).living()
    if not all(child.name in living for child in layout.services()):
        return False
    return all(await asyncio.gather(*(is_ready(child) for child in layout.services())))
