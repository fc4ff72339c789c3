"""CloudEvents on NATS: what goes out in binary mode comes back, and structured mode is understood."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainyard.common.contract.codec import decode, encode
from trainyard.common.contract.envelope import STRUCTURED, Envelope, from_message, to_headers
from trainyard.common.contract.events import JobCancelling, JobProgress
from trainyard.common.errors import InvalidInput, Permanent

NOW = datetime(2026, 12, 1, 10, 0, 0, 250_000, tzinfo=UTC)
attribute = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


@given(attribute, attribute, attribute, st.binary(max_size=200))
def test_binary_mode_round_trip(id_: str, source: str, type_: str, data: bytes) -> None:
    sent = Envelope(id=id_, source=source, type=type_, data=data, subject="j", time="2026-12-01T10:00:00Z")
    assert from_message(to_headers(sent), data) == sent


def test_an_event_on_the_wire() -> None:
    subject, headers, payload = encode(JobCancelling(job_id="01j", by="ann"), source="/trainyard/job-api", now=NOW)
    assert subject == "trainyard.job.01j.cancelling"
    assert headers == {
        "ce-specversion": "1.0",
        "ce-id": "01j/cancelling",
        "ce-source": "/trainyard/job-api",
        "ce-type": "dev.trainyard.job.cancelling.v1",
        "ce-subject": "01j",
        "ce-time": "2026-12-01T10:00:00.250000Z",
        "content-type": "application/json",
    }
    assert decode(subject, headers, payload, 7).event == JobCancelling(job_id="01j", by="ann")


def test_structured_mode_is_accepted() -> None:
    document = {"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "data": {"a": 1}}
    assert (
        from_message({"Content-Type": f"{STRUCTURED}; charset=utf-8"}, json.dumps(document).encode()).data
        == b'{"a": 1}'
    )
    document["data_base64"] = base64.b64encode(b"raw").decode()
    assert from_message({"content-type": STRUCTURED}, json.dumps(document).encode()).data == b"raw"


@pytest.mark.parametrize(
    ("headers", "payload", "says"),
    [
        (None, b"{}", "ce-specversion"),
        ({"ce-specversion": "0.3"}, b"", "specversion is 0.3"),
        ({"ce-specversion": "1.0", "ce-source": "/x", "ce-type": "t"}, b"", "ce-id"),
        ({"content-type": STRUCTURED}, b"{", "not JSON"),
        ({"content-type": STRUCTURED}, b"[]", "JSON object"),
        ({"content-type": STRUCTURED}, b'{"specversion":"1.0","data_base64":"*"}', "not base64"),
    ],
)
def test_what_is_not_a_cloudevent_is_named(headers: dict[str, str] | None, payload: bytes, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        from_message(headers, payload)


def test_a_reader_passes_over_what_a_newer_writer_added() -> None:
    subject, headers, _ = encode(JobProgress(job_id="j", number=1), source="/x", now=NOW)
    read = decode(subject, headers, b'{"job_id":"j","number":1,"new_field":{"x":1}}')
    assert read.event == JobProgress(job_id="j", number=1)


@pytest.mark.parametrize("subject", ["trainyard.job.x.unknown", "other.job.x.submitted", "trainyard.job.x"])
def test_unreadable_messages_are_permanent(subject: str) -> None:
    with pytest.raises(Permanent, match="unreadable"):
        decode(subject, {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/", "ce-type": "t"}, b"{}")
