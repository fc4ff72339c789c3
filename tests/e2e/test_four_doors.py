"""HTTP, SDK, CLI and a plain NATS client submit the same spec and get the same job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import nats
import pytest
import yaml

from trainyard.client.sdk import Yard
from trainyard.common.testing.yard import YardProcess

pytestmark = pytest.mark.e2e


async def test_the_same_job_through_every_door(yard: YardProcess, gateway: Yard, tmp_path: Path) -> None:
    document: dict[str, Any] = {
        "name": "doors",
        "framework": "generic",
        "command": ["sh", "-c", "echo through $DOOR"],
        "env": {"DOOR": "any"},
        "labels": {"door": "same"},
        "workdir": str(tmp_path),
        "timeouts": {"active": "5m"},
    }
    async with httpx.AsyncClient(base_url=yard.url, trust_env=False) as http:
        over_http = (await http.post("/v1/jobs", json=document)).raise_for_status().json()
        yaml_type = {"Content-Type": "application/yaml"}
        as_yaml = await http.post("/v1/jobs", content=yaml.safe_dump(document), headers=yaml_type)
    by_sdk = gateway.submit(document)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump({**document, "workdir": "."}))
    by_cli = json.loads(yard.yard("submit", str(tmp_path), "--json").stdout)
    by_nats = await over_nats(yard, document)

    jobs = [over_http, as_yaml.raise_for_status().json(), by_sdk.model_dump(mode="json"), by_cli, by_nats]
    assert len({job["job_id"] for job in jobs}) == len(jobs)
    assert len({json.dumps(job["spec"], sort_keys=True) for job in jobs}) == 1
    for job in jobs:
        ended = gateway.wait(job["job_id"], timeout=60)
        assert ended.state.value == "succeeded"
        assert [line["text"] for line in gateway.follow_logs(job["job_id"])] == ["through any"]


async def over_nats(yard: YardProcess, document: dict[str, Any]) -> dict[str, Any]:
    """What another system does: no library of ours, headers of a CloudEvent, a request."""
    client = await nats.connect(yard.nats_url)
    headers = {
        "ce-specversion": "1.0",
        "ce-id": "order-4711",
        "ce-source": "/shop",
        "ce-type": "dev.trainyard.command.job.submit.v1",
        "content-type": "application/json",
    }
    payload = json.dumps({"spec": document}).encode()
    answers = []
    for _ in range(2):  # delivered again, it is the same job
        reply = await client.request("trainyard.command.job.submit", payload, timeout=10, headers=headers)
        answers.append(json.loads(reply.data))
    await client.close()
    assert answers[0]["status"] == 201
    assert answers[1]["body"]["job_id"] == answers[0]["body"]["job_id"]
    return dict(answers[0]["body"])
