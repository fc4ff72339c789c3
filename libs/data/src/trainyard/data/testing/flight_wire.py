"""Flight's messages by hand, for streams that no client of pyarrow would send. Field numbers: Flight.proto."""

from __future__ import annotations

from typing import Any

import grpc
import pyarrow as pa

from trainyard.data.receiving import digest

DO_PUT = "/arrow.flight.protocol.FlightService/DoPut"
DO_EXCHANGE = "/arrow.flight.protocol.FlightService/DoExchange"
_META = (("authorization", "Bearer mine"),)


def field(number: int, content: bytes) -> bytes:
    """Of a protobuf message, length-delimited."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def flight_data(message: pa.Message, descriptor: bytes = b"", metadata: bytes = b"") -> bytes:
    """Descriptor, header, metadata, body."""
    header, body = bytes(message.metadata), bytes(message.body or b"")
    return (field(1, descriptor) if descriptor else b"") + field(2, header) + field(3, metadata) + field(1000, body)


def messages(table: pa.Table, command: bytes) -> list[bytes]:
    """Those of a whole and right stream: the schema under `command`, and the rows, one batch, with their digest."""
    (batch,) = table.to_batches()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_batch(batch)
    schema, rows = list(pa.ipc.MessageReader.open_stream(sink.getvalue()))[:2]
    descriptor = b"\x08\x02" + field(2, command)  # of type CMD
    return [flight_data(schema, descriptor), flight_data(rows, metadata=digest(batch))]


def call(port: int, method: str, sent: list[bytes]) -> str:
    """What the server says against it; empty where it takes it."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        calling: Any = channel.stream_stream(method, request_serializer=None, response_deserializer=None)
        try:
            list(calling(iter(sent), metadata=_META, timeout=20))
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}"
    return ""
