"""Nothing is sent to a server whose certificate nobody vouches for, by whichever way it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headish import Store
from headish.errors import CallError
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text
from support.relays import make_certificate, relayed


class Encrypted(NamedTuple):
    """A store whose pointer ``safe`` leads to a server by TLS, and the certificate of that."""

    store: Store
    certificate: Path


@pytest.fixture
def encrypted(asking: Store, server: Loopback, tmp_path: Path) -> Iterator[Encrypted]:
    certificate, context = make_certificate(tmp_path)
    with relayed(context=context) as relay:
        relay.target = int(server.url.rpartition(":")[2])
        asking.pointers.set(
            "safe", "anthropic/small", base_url=f"https://127.0.0.1:{relay.port}", key_env="TEST_KEY",
            params={"max_tokens": 9},
        )  # fmt: skip
        yield Encrypted(asking, certificate)


def ask(store: Store) -> Any:
    return store.ask("a", ptr="safe", attempts=1)


def make_batch(store: Store) -> Any:
    return store.batches.create([store.add_turn("a").id], ptr="safe")


@pytest.mark.parametrize("work", [ask, make_batch])
def test_a_certificate_is_checked(
    encrypted: Encrypted, server: Loopback, monkeypatch: pytest.MonkeyPatch, work: Callable[[Store], Any]
) -> None:
    with pytest.raises(CallError, match="CERTIFICATE_VERIFY_FAILED"):
        work(encrypted.store)
    assert server.requests == []
    monkeypatch.setenv("SSL_CERT_FILE", str(encrypted.certificate))
    if work is ask:
        server.answer(chunks=event_stream(anthropic_text("b")))
    else:
        server.answer_json({"id": "msgbatch_1", "processing_status": "in_progress", "request_counts": {}})
    work(encrypted.store)
    assert len(server.requests) == 1
