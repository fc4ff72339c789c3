"""The scripted kubelet of bench_launcher_scale.py: its pods run and speak until they are told to end, and it takes notes."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from trainyard.cluster_double.core.objects import Json, labels_of, meta, name_of
from trainyard.cluster_double.kubelet import Line, NodeSpec, Script, ScriptedKubelet
from trainyard.cluster_double.kubelet.client import Client
from trainyard.common.logs.layout import rank_folder, segments

NODES = 20
EVERY = 5.0  # seconds between two lines of a pod, and between two of its reports
LINES = 200
SAMPLE = 400  # pods whose logs are looked at while they run
INDEX = "batch.kubernetes.io/job-completion-index"
REPORT = "\x1etrainyard "


class Played:
    def __init__(self, kubeconfig: Path) -> None:
        nodes = [NodeSpec(f"scale-{index}", cpu="4000", memory="8Ti", pods=10_000) for index in range(NODES)]
        self._kubelet = ScriptedKubelet(kubeconfig, nodes)
        self._kubelet.plan(speaking)
        self.answered: dict[int, float] = {}
        """Version of a pod → when the kubelet was told that it was written."""
        self._running = 0
        self._request = Client.request

    def __enter__(self) -> Played:
        Client.request = self._noted()  # type: ignore[method-assign]
        self._kubelet.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._kubelet.__exit__()
        Client.request = self._request  # type: ignore[method-assign]

    def running(self) -> int:
        """Pods that have been reported as running."""
        return self._running

    def finish(self) -> None:
        """Every container ends well, now."""
        self._kubelet._thread.call(self._finish)

    def _finish(self) -> None:
        for run, _ in list(self._kubelet._runs.values()):
            run.tell(0)

    def log_lags(self, logs: Path) -> list[float]:
        """For how long the oldest line has been said that is not stored, of some pods; 0 where there is none."""
        pods = list(self._said().items())
        found = []
        for place, said in random.sample(pods, min(SAMPLE, len(pods))):
            stored, now = stored_lines(logs, *place), time.time()
            found.append(now - said[stored] if stored < len(said) else 0.0)
        return found

    def stored(self, logs: Path) -> dict[str, int]:
        """What was said in all, what of it is not stored, what is stored twice."""
        said = {place: len(times) for place, times in self._said().items()}
        there = {place: stored_lines(logs, *place) for place in said}
        return {
            "lines": sum(said.values()),
            "missing": sum(max(0, said[place] - there[place]) for place in said),
            "doubled": sum(max(0, there[place] - said[place]) for place in said),
        }

    def _said(self) -> dict[tuple[str, int], list[float]]:
        """Job and rank → when each line was written. A pod plays one run here."""
        outputs = self._kubelet._logs._runs
        found = {}
        for run, _ in list(self._kubelet._runs.values()):
            marks = labels_of(run.pod)
            if run.place in outputs:
                lines = [at for at, text in outputs[run.place][-1].lines if not text.startswith(REPORT)]
                found[marks["trainyard.dev/job"], int(marks[INDEX])] = lines
        return found

    def _noted(self) -> Any:
        request = self._request

        async def noted(client: Client, method: str, path: str, body: Json | None = None, *more: str) -> Json:
            answer = await request(client, method, path, body, *more)
            if method == "PATCH" and path.endswith("/status") and "/pods/" in path:
                self.answered[int(meta(answer)["resourceVersion"])] = time.time()
                self._running += (body or {})["status"].get("phase") == "Running"
            return answer

        return noted


def speaking(pod: Json) -> Script:
    """Lines and reports of progress, each pod at moments of its own; it ends when it is told to."""
    rank, begin = int(labels_of(pod)[INDEX]), random.uniform(0, EVERY)
    lines = []
    for number in range(1, LINES + 1):
        at = begin + number * EVERY
        report = {"rank": rank, "number": number, "step": number, "steps": LINES, "metrics": {"loss": 1 / number}}
        lines += [Line(f"{name_of(pod)} step {number}", at), Line(REPORT + json.dumps(report), at)]
    return Script(run_seconds=None, lines=tuple(lines))


def stored_lines(logs: Path, job: str, rank: int) -> int:
    return sum(path.read_bytes().count(b"\n") for _, path in segments(rank_folder(logs, job, 1, rank)))
