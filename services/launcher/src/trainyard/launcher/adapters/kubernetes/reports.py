"""The newest report of progress of each rank, as it came among the lines of its pod, for as long as the pod is there."""

from __future__ import annotations

from trainyard.launcher.adapters.reported import parse_numbered
from trainyard.launcher.core.cluster.pods import Pod
from trainyard.launcher.ports import Report


class PodReports:
    def __init__(self) -> None:
        self._newest: dict[tuple[str, int], dict[int, Report]] = {}
        """Job and attempt → rank → report. By attempt, because every job that runs asks every second."""

    def learn(self, pod: Pod, document: bytes) -> None:
        made = parse_numbered(document)
        if made is None or made.rank not in pod.ranks:  # a job may print the mark itself
            return
        known = self._newest.setdefault((pod.job_id, pod.attempt), {})
        if made.rank not in known or made.number > known[made.rank].number:
            known[made.rank] = made

    def after(self, job_id: str, attempt: int, rank: int | None, number: int) -> list[Report]:
        """What is newer than `number`: of a rank, or of the lowest that reports."""
        known = self._newest.get((job_id, attempt), {})
        ranks = [rank] if rank is not None else sorted(known)
        found = (known[one] for one in ranks if one in known)
        return next(([report] for report in found if report.number > number), [])

    def forget(self, pod: Pod) -> None:
        key = (pod.job_id, pod.attempt)
        known = self._newest.get(key, {})
        for rank in pod.ranks:
            known.pop(rank, None)
        if not known:
            self._newest.pop(key, None)
