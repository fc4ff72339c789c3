"""From pods to ranks: replicas of several processes, pods that are gone, and ends that we have brought about."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.cluster.pods import Pod, RankEnd
from trainyard.launcher.core.cluster.seeing import Attempt, newest, see
from trainyard.launcher.core.cluster.stopping import Stopped, dump, parse
from trainyard.launcher.core.observation import Pending, Phase, RankSeen

NOW = 1000.0


def pod(index: int = 0, **changes: Any) -> Pod:
    fields: dict[str, Any] = {
        "name": f"p{index}", "namespace": "ml", "uid": f"u{index}", "job_id": "j", "attempt": 1, "role": "worker",
        "index": index, "node": f"n{index}", "created": 10.0,
    }  # fmt: skip
    return Pod(**{**fields, **changes})


def seen(job: Any, attempt: Attempt) -> list[RankSeen]:
    return list(see(job, attempt, NOW))


def test_the_processes_of_a_pod_are_ranks(job: Any) -> None:
    two = {("worker", 0): pod(0, running=True), ("worker", 1): pod(1, pending=Pending(None, "soon", 1.0))}
    ranks = seen(job(replicas=2, processes=2), Attempt(two))
    assert [(rank.rank, rank.phase, rank.node) for rank in ranks] == [
        (0, Phase.RUNNING, "n0"), (1, Phase.RUNNING, "n0"), (2, Phase.STARTING, "n1"), (3, Phase.STARTING, "n1"),
    ]  # fmt: skip


def test_each_process_ends_its_own_way(job: Any) -> None:
    ends = ((0, RankEnd(0)), (1, RankEnd(signal=9, oom=True, max_rss=5)))
    ranks = seen(job(processes=2), Attempt({("worker", 0): pod(over=True, code=137, ends=ends)}))
    assert ranks[0].succeeded
    assert (ranks[1].why(), ranks[1].signal, ranks[1].max_rss) == (EndReason.OOM, 9, 5)


def test_14_not_there_yet_is_not_gone(job: Any) -> None:
    assert seen(job(), Attempt({}))[0].phase is Phase.STARTING
    gone = seen(job(), Attempt({}, lost={("worker", 0): pod(running=True)}))[0]
    assert (gone.phase, gone.why()) == (Phase.VANISHED, EndReason.LOST)


def test_a_pod_that_nobody_makes_any_more_is_gone_too(job: Any) -> None:
    assert seen(job(), Attempt({}, expected=False))[0].phase is Phase.VANISHED


def test_13_a_preempted_pod_that_is_gone_was_preempted(job: Any) -> None:
    lost = pod(reason=EndReason.PREEMPTED, message="it made room")
    rank = seen(job(), Attempt({}, lost={("worker", 0): lost}))[0]
    assert (rank.why(), rank.over, rank.message) == (EndReason.PREEMPTED, True, "it made room")


def test_16_the_newest_pod_of_a_replica_counts() -> None:
    old, new = pod(uid="a", created=10.0, over=True, code=1), pod(uid="b", created=20.0, running=True)
    assert newest([new, old]) == newest([old, new]) == {("worker", 0): new}


def test_12_a_node_that_never_ends_its_pod_is_given_up(job: Any) -> None:
    dying = pod(running=True, deleting_since=NOW - 10)
    assert not seen(job(), Attempt({("worker", 0): dying}))[0].over
    dead = pod(running=True, deleting_since=NOW - 61)
    rank = seen(job(), Attempt({("worker", 0): dead}))[0]
    assert (rank.why(), rank.message) == (EndReason.NODE_LOST, "node n0 does not end it any more")


def test_a_pod_that_somebody_deletes_is_no_failure_of_the_job(job: Any) -> None:
    gone = pod(over=True, code=143, signal=15, deleting_since=NOW)
    rank = seen(job(), Attempt({("worker", 0): gone}))[0]
    assert (rank.why(), rank.taken) == (EndReason.EVICTED, True)
    failed = seen(job(), Attempt({("worker", 0): pod(over=True, code=1, deleting_since=NOW)}))[0]
    assert (failed.why(), failed.taken) == (EndReason.ERROR, False)


def test_who_was_to_blame_outlives_the_pods(job: Any) -> None:
    """A launcher that was killed between the stop and the end of the attempt finds the culprit in the note."""
    spec = job(replicas=3)
    well = {("worker", index): pod(index, running=True) for index in (0, 2)}
    before = Attempt({**well, ("worker", 1): pod(1, over=True, code=3, ended_at=900.0)})
    note = parse(dump("another rank has failed", seen(spec, before)))
    ranks = seen(spec, Attempt({}, lost={("worker", 0): pod(0, over=True, code=143, signal=15)}, stopped=note))
    assert all(rank.over for rank in ranks)
    assert [rank.failed for rank in ranks] == [False, True, False]
    assert (ranks[1].exit_code, ranks[1].ended_at) == (3, 900.0)
    assert ranks[0].stopped
    assert ranks[2].stopped


def test_one_that_ran_out_of_memory_while_it_ended_did_so(job: Any) -> None:
    oom = pod(over=True, code=137, signal=9, reason=EndReason.OOM)
    assert seen(job(), Attempt({("worker", 0): oom}, stopped=Stopped("cancelled")))[0].why() is EndReason.OOM


def test_a_stopped_pod_that_still_runs_is_not_over(job: Any) -> None:
    assert not seen(job(), Attempt({("worker", 0): pod(running=True)}, stopped=Stopped("cancelled")))[0].over


NOTES = [
    "yes", "[]", "[" * 100_000, '{"why": "x", "ended": [{"rank": 1e999, "phase": "ended", "at": 1}]}',
    '{"why": "x", "ended": [[]]}', '{"why": "x", "ended": [{"rank": 0, "phase": "ended", "at": 1, "code": "a"}]}',
]  # fmt: skip


@pytest.mark.parametrize("note", NOTES)
def test_a_note_that_somebody_wrote_over_still_means_the_end(note: str) -> None:
    assert parse(note) == Stopped("it is being ended")


def test_no_note_is_no_end() -> None:
    assert parse(None) is None


def test_a_queue_is_told(job: Any) -> None:
    waits = Pending(None, "it waits in queue team-a", 1.0)
    assert seen(job(), Attempt({}, waits=waits))[0].pending == waits


def test_a_pod_that_vanished_speaks_against_its_node_unless_somebody_took_away_its_maker(job: Any) -> None:
    lost = {("worker", 0): pod(running=True)}
    for expected in (True, False):
        rank = seen(job(), Attempt({}, lost=lost, expected=expected))[0]
        assert (rank.node, rank.of_node) == ("n0", expected)


def test_where_a_rank_was_placed_outlives_its_pod(job: Any) -> None:
    waiting = RankSeen(0, Phase.STARTING, node="n7", pending=Pending(EndReason.NODE_FAULT, "no network", 1.0))
    stopped = parse(dump("node-fault: rank 0 could not start: no network", [waiting]))
    rank = seen(job(), Attempt({}, stopped=stopped))[0]
    assert (rank.over, rank.node, rank.stopped_for) == (True, "n7", "node-fault: rank 0 could not start: no network")


def test_whether_its_node_is_to_blame_outlives_a_pod(job: Any) -> None:
    lost = RankSeen(0, Phase.ENDED, reason=EndReason.NODE_LOST, ended_at=5.0, node="n7", of_node=True)
    rank = seen(job(), Attempt({}, stopped=parse(dump("another rank has failed", [lost]))))[0]
    assert (rank.failed, rank.node, rank.of_node) == (True, "n7", True)
