"""The verbs that ask a provider, and those that look after what it had not ended: a provider on 127.0.0.1 answers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any

from headish import Store
from headish.errors import UncertainBatch, UnknownBatch
from soak.verbs.verb import Verb, add_thread, is_longer
from support.providers.answers import anthropic_message, anthropic_text
from support.upstream import CUT, Asked, Step, Upstream, answer

KEY_ENV = "HEADISH_SOAK_KEY"
BATCHES, RESPONSES = "/v1/messages/batches", "/v1/responses"
LOST = "/lost"
"""What is asked below this path arrives, and its answer is lost."""
BACKGROUND = {"openai_responses": {"background": True, "store": True}}


@cache
def provider() -> Upstream:
    """One for all verbs, which ends with the process."""
    os.environ[KEY_ENV] = "of-the-soak"
    batches, responses = dict[str, list[str]](), list[str]()

    def script(asked: Asked) -> Iterable[Step]:
        path = asked.target.removeprefix(LOST).partition("?")[0]
        id = path.removesuffix("/results").rpartition("/")[2]
        if (asked.method, path) == ("POST", BATCHES):
            id = f"batch_{len(batches)}"
            batches[id] = [each["custom_id"] for each in json.loads(asked.body)["requests"]]
            return [CUT] if asked.target.startswith(LOST) else _json(_batch(id, 1))
        if (asked.method, path) == ("POST", RESPONSES):
            responses.append(f"resp_{len(responses)}")
            return _json(_response(responses[-1], "queued"))
        if path.endswith("/results"):
            return answer(b"\n".join(map(_result, batches[id])), 200, "application/x-jsonl")
        if path == BATCHES:
            return _json({"data": [_batch(list(batches)[-1], 1)]})
        return _json(_response(id, "completed") if path.startswith(RESPONSES) else _batch(id, len(batches[id])))

    server = Upstream(script, keep_bodies=True)
    server.__enter__()
    return server


def _json(value: Any) -> list[Step]:
    return answer(json.dumps(value).encode())


def _batch(id: str, count: int) -> dict[str, Any]:
    said = {"id": id, "processing_status": "ended", "created_at": datetime.now(UTC).isoformat()}
    return {**said, "request_counts": {"succeeded": count}}


def _result(id: str) -> bytes:
    said = anthropic_message({"type": "text", "text": "answered"})
    return json.dumps({"custom_id": id, "result": {"type": "succeeded", "message": said}}).encode()


def _response(id: str, status: str) -> dict[str, Any]:
    said = {"type": "message", "id": "msg_1", "role": "assistant",
            "content": [{"type": "output_text", "text": "answered", "annotations": []}]}  # fmt: skip
    return {"object": "response", "id": id, "status": status, "model": "m", "output": [said][status == "queued" :]}


def _add_waiting(store: Store, tag: str) -> None:
    """A thread that waits for an answer, and the provider to ask."""
    add_thread(store, tag)
    _point(store)


def _point(store: Store) -> None:
    if "near" not in store.pointers:
        url = provider().url
        store.pointers.set("near", "anthropic/small", base_url=url, key_env=KEY_ENV, params={"max_tokens": 9})
        store.pointers.set("lost", "anthropic/small", base_url=url + LOST, key_env=KEY_ENV, params={"max_tokens": 9})
        store.pointers.set("far", "openai_responses/m", base_url=f"{url}/v1", key_env=KEY_ENV)


def _create(store: Store, tag: str) -> None:
    store.batches.create([tag], name=tag, ptr="near")


def _create_again(store: Store, tag: str) -> None:
    """Forget one whose creation was cut off, and create it."""
    if not _has_begun(store, tag):
        store.batches.drop(tag)
        _create(store, tag)


def _add_batch(store: Store, tag: str) -> None:
    _add_waiting(store, tag)
    _create(store, tag)


def _lose_batch(store: Store, tag: str) -> None:
    """A batch that the provider has, though nobody here knows it."""
    _add_waiting(store, tag)
    with suppress(UncertainBatch):
        store.batches.create([tag], name=tag, ptr="lost")


def _has_begun(store: Store, tag: str) -> bool:
    return store.batches.get(tag).remote is not None


def _is_dropped(store: Store, tag: str) -> bool:
    try:
        return not store.batches.get(tag)
    except UnknownBatch:
        return True


def _leave(store: Store, tag: str) -> None:
    """An answer that was cut off, as a process that is gone leaves it."""
    add_thread(store, tag)
    capture = store.capture(tag, "anthropic")
    for event in anthropic_text("Hel", tag)[:-3]:
        capture.feed(event)
    capture._journal.keep()
    capture._journal.close()


def _drop(store: Store, tag: str) -> None:
    """The newest one: calls that were struck left the others."""
    store.streams.drop(store.streams.list()[-1])


def _ask_in_the_background(store: Store, tag: str) -> None:
    """An answer that the provider makes, alone: what goes on already is not asked for again."""
    _point(store)
    for turn in store.heads():
        if turn.meta.reply and turn.meta.reply.get("incomplete"):
            store.add_turn("later", continues=turn.id)
    store.ask(tag, bookmark=tag, ptr="far", params=BACKGROUND, stream=False)


ASKED: dict[str, Verb] = {
    "Batches.create": Verb(_create, _has_begun, _add_waiting, go_on=_create_again),
    "Batches.status": Verb(lambda store, tag: store.batches.status(tag), _has_begun, _lose_batch),
    "Batches.collect": Verb(
        lambda store, tag: store.batches.collect(tag), is_longer, _add_batch,
        go_on=lambda store, tag: store.batches.collect(tag),
    ),
    "Batches.drop": Verb(lambda store, tag: store.batches.drop(tag), _is_dropped, _add_batch),
    "Streams.recover": Verb(lambda store, tag: store.streams.recover(force=True), is_longer, _leave),
    "Streams.drop": Verb(_drop, lambda store, tag: not is_longer(store, tag), _leave),
    "Streams.recover_remote": Verb(
        lambda store, tag: store.streams.recover_remote(), lambda store, tag: store.text(tag) == "answered",
        _ask_in_the_background,
    ),
}  # fmt: skip
