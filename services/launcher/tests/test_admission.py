"""Who may start: never more than there is, in order, and nobody for ever behind the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trainyard.common.testing.builders import spec
from trainyard.launcher.core.admission import Admission, Need, need_of

needs = st.builds(Need, st.sampled_from([0.1, 0.5, 1.0, 2.0, 4.0]), st.integers(1, 8))


@given(st.lists(st.tuples(needs, st.integers(-2, 2)), max_size=30), st.data())
def test_capacity_is_kept_and_everything_that_fits_ends(jobs: list[tuple[Need, int]], data: st.DataObject) -> None:
    capacity = Need(4.0, 8)
    queue = Admission(capacity)
    for number, (need, priority) in enumerate(jobs):
        queue.offer(str(number), need, priority=priority, order=number)
    running: dict[str, Need] = {}
    started: list[str] = []
    while True:
        for job in queue.admit():
            running[job] = jobs[int(job)][0]
            started.append(job)
        assert sum(need.cpu for need in running.values()) <= capacity.cpu + 1e-6
        assert sum(need.memory for need in running.values()) <= capacity.memory
        if not running:
            break
        ended = data.draw(st.sampled_from(sorted(running)))
        del running[ended]
        queue.release(ended)
    assert started == sorted((str(n) for n in range(len(jobs))), key=lambda job: (-jobs[int(job)][1], int(job)))
    assert abs(queue.free.cpu - capacity.cpu) < 1e-6


def test_nobody_passes_the_head_of_the_queue() -> None:
    queue = Admission(Need(4, 100))
    queue.offer("running", Need(3, 1), priority=0, order=1)
    assert queue.admit() == ["running"]
    queue.offer("big", Need(4, 1), priority=0, order=2)
    queue.offer("small", Need(1, 1), priority=0, order=3)
    assert queue.admit() == []
    queue.release("running")
    assert queue.admit() == ["big"]


def test_a_withdrawn_job_makes_way() -> None:
    queue = Admission(Need(1, 1))
    queue.offer("a", Need(1, 1), priority=0, order=1)
    queue.admit()
    queue.offer("b", Need(1, 1), priority=0, order=2)
    queue.offer("c", Need(1, 1), priority=0, order=3)
    queue.release("b")
    queue.release("a")
    assert queue.admit() == ["c"]


def test_what_runs_after_a_restart_holds_its_resources() -> None:
    queue = Admission(Need(2, 10))
    queue.occupy("old", Need(2, 10))
    queue.occupy("old", Need(2, 10))
    queue.offer("new", Need(1, 1), priority=0, order=1)
    assert queue.admit() == []
    queue.release("old")
    assert queue.admit() == ["new"]


def test_what_never_fits_is_said_in_words() -> None:
    queue = Admission(Need(2, 2**30))
    text = queue.impossible(need_of(spec(processes=4, resources={"cpu": 1, "memory": "1Gi"})))
    assert text == "all processes together ask for 4 cores (there are 2) and 4.0 GiB of memory (there are 1.0 GiB)"
    assert queue.impossible(need_of(spec(processes=2))) is None
    assert "accelerators (there are 0)" in str(
        queue.impossible(need_of(spec(resources={"accelerators": {"count": 1}})))
    )


def test_ten_tenths_fit_into_one() -> None:
    queue = Admission(Need(1.0, 100))
    for number in range(10):
        queue.offer(str(number), Need(0.1, 1), priority=0, order=number)
    assert len(queue.admit()) == 10
