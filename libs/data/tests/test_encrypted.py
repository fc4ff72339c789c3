"""Over TLS: with the authority that signed for the server, and with none or another."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from trainyard.data.client import Client
from trainyard.data.errors import Unavailable
from trainyard.data.testing import Served, table


def test_only_a_server_that_the_authority_signed_for_is_spoken_to(serve: Served, tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    certificate = b"".join(blob.bytes() for blob in issued.cert_chain_pems), issued.private_key_pem.bytes()
    server = serve(location="grpc+tls://127.0.0.1:0", certificates=[certificate])
    url, plain = f"grpc+tls://localhost:{server.port}", f"grpc://localhost:{server.port}"
    with Client(url, "mine", roots=authority.cert_pem.bytes(), same_host=False) as client:
        client.put("digits", table())
        assert client.get("digits").equals(table())
    for place, roots in ((url, other.cert_pem.bytes()), (plain, None)):
        with Client(place, "mine", roots=roots, patience=0) as stranger, pytest.raises(Unavailable):
            stranger.list()
