"""The log of a pod, asked of its kubelet by the API server."""

from __future__ import annotations

import re
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from trainyard.cluster_double.kubelet import Line, ScriptedKubelet, bad_image, forever, run
from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_pod


@pytest.fixture
def name() -> str:
    return f"log-{uuid.uuid4().hex[:8]}"


def ended(api: Api, pods: str, name: str, **spec: object) -> str:
    api.made(pods, a_pod(name, **spec))
    eventually(lambda: api.get(f"{pods}/{name}").body["status"]["phase"] == "Succeeded")
    return f"{pods}/{name}/log"


def test_what_a_pod_wrote(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(run(0.1, lines=["one", "two", "three"]), name=name)
    log = ended(api, pods, name)
    reply = api.get(log)
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.text == "one\ntwo\nthree\n"
    assert api.get(log, tailLines=2).text == "two\nthree\n"
    assert api.get(log, limitBytes=5).text == "one\nt"
    assert api.get(log, container="main").text == "one\ntwo\nthree\n"


def test_times(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(run(3.0, lines=["early", Line("late", 2.5)]), name=name)
    log = ended(api, pods, name)
    stamped = api.get(log, timestamps="true").text.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (early|late)$", line) for line in stamped)
    late = datetime.fromisoformat(stamped[1].split()[0][:26] + "+00:00")
    since = (late - timedelta(seconds=1)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert api.get(log, sinceTime=since).text == "late\n"
    assert api.get(log, sinceSeconds=3600).text == "early\nlate\n"


def test_following(api: Api, kubelet: ScriptedKubelet, ns: str, pods: str, name: str) -> None:
    kubelet.plan(forever(["first"]), name=name)
    api.made(pods, a_pod(name))
    eventually(lambda: api.get(f"{pods}/{name}").body["status"]["phase"] == "Running")
    eventually(lambda: api.get(f"{pods}/{name}/log").text == "first\n")

    def later() -> None:
        time.sleep(0.3)
        kubelet.write(ns, name, "second")
        time.sleep(0.1)
        kubelet.finish(ns, name)

    thread = threading.Thread(target=later)
    thread.start()
    with api.http.stream("GET", f"{pods}/{name}/log", params={"follow": "true"}) as answer:
        assert list(answer.iter_lines()) == ["first", "second"], "and it ends with the container"
    thread.join()


def test_a_rotated_log_has_lost_its_beginning(
    api: Api, kubelet: ScriptedKubelet, ns: str, pods: str, name: str
) -> None:
    kubelet.plan(forever(["one", "two"]), name=name)
    api.made(pods, a_pod(name))
    eventually(lambda: api.get(f"{pods}/{name}/log").text == "one\ntwo\n")
    kubelet.rotate(ns, name, keep=1)
    kubelet.write(ns, name, "three")
    assert api.get(f"{pods}/{name}/log").text == "two\nthree\n"


def test_the_run_before(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(run(0.1, exit_code=1, lines=["again"]), name=name)
    api.made(pods, a_pod(name, restartPolicy="OnFailure"))

    def restarted() -> bool:
        statuses = api.get(f"{pods}/{name}").body["status"].get("containerStatuses") or [{}]
        return statuses[0].get("restartCount", 0) > 0

    eventually(restarted)
    eventually(lambda: api.get(f"{pods}/{name}/log", previous="true").text == "again\n")


def test_a_container_that_has_not_started(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(bad_image(), name=name)
    api.made(pods, a_pod(name))
    eventually(lambda: api.get(f"{pods}/{name}").body["status"].get("containerStatuses"))
    reply = api.get(f"{pods}/{name}/log")
    assert reply.code == 400
    assert "is waiting to start" in reply.text


def test_which_container(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    pod = a_pod(name)
    pod["spec"]["containers"].append({"name": "side", "image": "example.com/side:1"})
    api.made(pods, pod)
    unclear = api.get(f"{pods}/{name}/log")
    assert unclear.code == 400
    assert unclear.body["message"] == f"a container name must be specified for pod {name}, choose one of: [main side]"
    wrong = api.get(f"{pods}/{name}/log", container="other")
    assert (wrong.code, wrong.body["message"]) == (400, f"container other is not valid for pod {name}")


def test_a_pod_on_no_node_has_an_empty_log(api: Api, pods: str, name: str) -> None:
    api.made(pods, a_pod(name, nodeSelector={"nowhere": "x"}))
    reply = api.get(f"{pods}/{name}/log")
    assert (reply.code // 100, reply.text) == (2, "")
    assert api.get(f"{pods}/{name}-none/log").code == 404
