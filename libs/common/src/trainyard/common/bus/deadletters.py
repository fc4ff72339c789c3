"""Dead letters: what a consumer gave up, kept with the reason, and handed to it again on request.

A replay goes through the events stream on `trainyard.replay.<consumer>`, which the consumer filters for beside its own
subjects: it is durable, acked and retried like any other message, and nobody else sees it.
"""

from __future__ import annotations

import contextlib

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.errors import NotFoundError

from trainyard.common.bus import direct
from trainyard.common.bus.port import DeadLetter
from trainyard.common.bus.pull import stream_seq
from trainyard.common.contract import subjects
from trainyard.common.errors import NotFound

REASON, SUBJECT, SEQ, DELIVERIES, CONSUMER = (
    "Trainyard-Reason",
    "Trainyard-Subject",
    "Trainyard-Seq",
    "Trainyard-Deliveries",
    "Trainyard-Consumer",
)
_OURS = frozenset({REASON, SUBJECT, SEQ, DELIVERIES, CONSUMER})
_PAGE = 256


async def bury(client: Client, message: Msg, *, durable: str, reason: str, subject: str, seq: int, count: int) -> None:
    """Durable when it returns. Burying the same message twice keeps one. `subject` and `seq` are the event's; a replay of it
    is another message, and gets a letter of its own when it fails as well."""
    ours = {
        REASON: " ".join(reason.split())[:1000],
        SUBJECT: subject,
        SEQ: str(seq),
        DELIVERIES: str(count),
        CONSUMER: durable,
        "Nats-Msg-Id": f"{durable}/{stream_seq(message)}",
    }
    kept = {name: value for name, value in (message.headers or {}).items() if name.startswith(("ce-", "content-"))}
    await client.jetstream(timeout=5).publish(subjects.deadletter(durable), message.data, headers={**kept, **ours})


async def newest(client: Client, limit: int) -> list[DeadLetter]:
    letters: list[DeadLetter] = []
    seq = 1
    while True:
        page = await direct.read(
            client,
            subjects.DEADLETTER_STREAM,
            {"next_by_subj": subjects.DEADLETTER_SUBJECTS[0], "seq": seq, "batch": _PAGE},
        )
        letters += [_letter(item) for item in page]
        if len(page) < _PAGE:
            return letters[::-1][:limit]
        seq = page[-1].seq + 1


async def one(client: Client, seq: int) -> DeadLetter:
    page = await direct.read(
        client, subjects.DEADLETTER_STREAM, {"next_by_subj": subjects.DEADLETTER_SUBJECTS[0], "seq": seq, "batch": 1}
    )
    if not page or page[0].seq != seq:
        raise NotFound(f"there is no dead letter {seq}")
    return _letter(page[0])


async def replay(client: Client, letter: DeadLetter) -> None:
    """The message to its consumer, then the letter away: a crash in between replays twice rather than never."""
    headers = {**letter.headers, SUBJECT: letter.subject, SEQ: str(letter.event_seq)}
    js = client.jetstream(timeout=5)
    await js.publish(subjects.replay(letter.consumer), letter.payload, headers=headers)
    with contextlib.suppress(NotFoundError):
        await js.delete_msg(subjects.DEADLETTER_STREAM, letter.seq)


def _letter(stored: direct.Stored) -> DeadLetter:
    headers = stored.headers
    return DeadLetter(
        seq=stored.seq,
        consumer=headers.get(CONSUMER, ""),
        reason=headers.get(REASON, ""),
        subject=headers.get(SUBJECT, ""),
        event_seq=int(headers.get(SEQ, 0)),
        deliveries=int(headers.get(DELIVERIES, 0)),
        time=headers.get("Nats-Time-Stamp", ""),
        headers={name: value for name, value in headers.items() if name.startswith(("ce-", "content-"))},
        payload=stored.payload,
    )
