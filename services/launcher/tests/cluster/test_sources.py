"""The folder of a job in a cluster: there before its pods, shared by jobs, gone when nobody names it."""

from __future__ import annotations

import base64
import io
import zipfile
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import run
from trainyard.common.clock import SystemClock
from trainyard.common.sources import archive
from trainyard.common.sources.store import Sources
from trainyard.launcher.adapters.kubernetes.api import Api
from trainyard.launcher.adapters.kubernetes.cache import ClusterCache
from trainyard.launcher.adapters.kubernetes.sources import SourceMaps
from trainyard.launcher.core.manifests import sources

pytestmark = pytest.mark.integration
CODE = {"framework": "pytorch", "command": ["python", "train.py"]}


def zipped(text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("train.py", text)
    return out.getvalue()


def maps(cluster: Any) -> dict[str, Any]:
    path = "/api/v1/namespaces/default/configmaps?labelSelector=trainyard.dev/source%3Dtrue"
    return {item["metadata"]["name"]: item for item in cluster.call("GET", path)["items"]}


async def test_jobs_with_the_same_folder_share_one(cluster: Any) -> None:
    cluster.kubelet.plan(run(0.2))
    data = zipped("print('shared')")
    digest = await (await Sources.open(cluster.bus)).put(data)
    jobs = [await cluster.submit(source=digest, **CODE) for _ in range(2)]
    for job in jobs:
        event = await cluster.until(job, "succeeded", "failed")
        assert event.kind == "succeeded", event
        [root] = cluster.items("/api/v1/namespaces/default/configmaps", job)
        assert root["metadata"]["annotations"]["trainyard.dev/source"] == sources.name(digest)
        pod = cluster.items("/api/v1/namespaces/default/pods", job)[0]
        mounted = {item["name"]: item["configMap"]["name"] for item in pod["spec"]["volumes"] if "configMap" in item}
        assert mounted["trainyard-source"] == sources.name(digest)
    found = maps(cluster)[sources.name(digest)]
    assert base64.b64decode(found["binaryData"]["source.zip"]) == data


async def test_a_folder_that_is_gone_ends_the_job_in_words(cluster: Any) -> None:
    job = await cluster.submit(source=archive.digest(b"never sent"), **CODE)
    event = await cluster.until(job, "failed")
    assert "submit it again" in event.message
    assert event.attempt == 1


async def test_what_nobody_names_goes_and_what_is_wanted_stays(cluster: Any) -> None:
    api = await Api.connect(str(cluster.kubeconfig))
    sent = await Sources.open(cluster.bus)
    digests = [await sent.put(zipped(text)) for text in ("named", "old", "young", "wanted again")]
    named, old, young, again = digests
    now = SystemClock().now().timestamp()
    for digest, age in ((named, 9e6), (old, 9e6), (young, 60.0), (again, 9e6)):
        await api.apply(sources.manifest(digest, "default", (await sent.get(digest)) or b"", now - age))
    cluster.kubelet.plan(run(0.1))
    job = await cluster.submit(source=named, **CODE)
    await cluster.until(job, "succeeded")

    cache = ClusterCache(api, SystemClock(), [None], [])
    keeper = SourceMaps(api, sent, cache, SystemClock(), [None])
    roots = [item for launcher, _ in cluster.launchers.values() for item in launcher._parts.backend.cache.roots()]
    cache._roots.update({(root.job_id, root.attempt): root for root in roots})
    delete = api.delete

    async def wanted_meanwhile(*args: Any) -> None:
        if args[2] == sources.name(again):
            await keeper.apply(again, "default")  # between the look and the deletion
        await delete(*args)

    api.delete = wanted_meanwhile  # type: ignore[method-assign]
    await keeper._clear()
    there = maps(cluster).keys()
    assert there >= {sources.name(digest) for digest in (named, young, again)}
    assert sources.name(old) not in there
    await api.close()
