"""A store keeps a batch as objects (rule R38, objects): one for the batch, one for each finished request.

An answer and the object of its request are stored in one transaction. So each answer is stored once, whoever collects
it, however often, and wherever a collection was cut off.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from headish.calls.batches.choosing import find_batch_api
from headish.calls.batches.reading import BatchRequest
from headish.content import strictjson
from headish.errors import CorruptRecord, InvalidArgument, TooLarge
from headish.providers.clouds import Cloud
from headish.providers.shared.values import Request
from headish.store.answers.journal import About
from headish.values.ids import TurnId
from headish.values.names import check_name
from headish.values.results.batches import Batch, BatchEntry, State

BATCH, OUTCOME = "headish/batch", "headish/batch-outcome"
"""The kinds of the objects that a batch is stored in."""
NAME_LIMIT = 100


class Server(Struct, frozen=True, omit_defaults=True):
    """The server of a batch. Like a pointer, it names the variable that has the key, never the key itself."""

    base_url: str | None = None
    key_env: str | None = None
    headers: dict[str, str] = {}
    cloud: Cloud | None = None


class JobEntry(Struct, frozen=True):
    """A request: the id under which its answer comes back, and what the answer belongs to."""

    id: str
    about: About


class Job(Struct, frozen=True, omit_defaults=True):
    """A batch as it is stored. ``token`` begins the ids of its requests; ``remote`` is the provider's id of the batch,
    or None until the provider has given it."""

    provider: str
    token: str
    milliseconds: int
    server: Server
    entries: tuple[JobEntry, ...]
    model: str | None = None
    ptr: str | None = None
    remote: str | None = None
    collected: bool = False

    @property
    def time(self) -> datetime:
        """When it was made."""
        return datetime.fromtimestamp(self.milliseconds / 1000, UTC)

    @property
    def state(self) -> State:
        """The state, as ``Batch.state`` gives it."""
        if self.remote is None:
            return "uncertain"
        return "collected" if self.collected else "open"


class Settled(Struct, frozen=True, omit_defaults=True):
    """The outcome of a request: a turn, or the provider's error."""

    turn: TurnId | None = None
    error: dict[str, str] | None = None


def plan_job(name: str, requests: Sequence[Request]) -> tuple[Job, list[BatchRequest]]:
    """Make a batch of requests; return it with the requests to send. Raises: InvalidArgument, TooLarge."""
    first = requests[0]
    api = find_batch_api(first.provider, first.cloud)
    if len(requests) > api.most_requests:
        raise InvalidArgument(f"a batch of {first.provider} has at most {api.most_requests:,} requests")
    _check_same(requests, one_model=api.one_model)
    # Random, so that a batch whose creation was cut off can be found among others at the provider.
    token = secrets.token_hex(8)
    batch_requests = [BatchRequest(f"{token}-{number}", each.body) for number, each in enumerate(requests, 1)]
    size = sum(len(msgspec.json.encode(each.body)) for each in batch_requests)
    if size > api.most_bytes:
        raise TooLarge("the requests of the batch", size, api.most_bytes)
    entries = [
        JobEntry(each.id, msgspec.structs.replace(About.of_request(request), batch=name))
        for each, request in zip(batch_requests, requests, strict=True)
    ]
    job = Job(
        provider=first.provider,
        token=token,
        milliseconds=time.time_ns() // 1_000_000,
        server=Server(first.base_url, first.key_env, first.headers, first.cloud),
        entries=tuple(entries),
        model=first.model if len({each.model for each in requests}) == 1 else None,
        ptr=first.ptr if len({each.ptr for each in requests}) == 1 else None,
    )
    return job, batch_requests


def _check_same(requests: Sequence[Request], *, one_model: bool) -> None:
    """Check that all requests go to one server, and if need be to one model. Raises: InvalidArgument."""
    first = requests[0]
    for each in requests:
        if _server(each) != _server(first):
            raise InvalidArgument(
                f"a batch goes to one server: {_who(first)} and {_who(each)} differ; make a batch for each"
            )
        if one_model and each.model != first.model:
            raise InvalidArgument(
                f"a batch of {first.provider} has one model, not {first.model} and {each.model}: make a batch for each"
            )


def _server(request: Request) -> tuple[Any, ...]:
    return request.provider, request.base_url, request.key_env, request.headers, request.cloud


def _who(request: Request) -> str:
    return request.ptr or f"{request.provider}/{request.model}"


def check_batch_name(name: str) -> str:
    """Check the name of a batch. Raises: InvalidName, InvalidArgument."""
    check_name(name, "batch", is_new=True)
    if len(name) > NAME_LIMIT:
        raise InvalidArgument(f"the name of a batch has at most {NAME_LIMIT} characters")
    return name


def encode_job(job: Job) -> bytes:
    """Encode a batch as JSON."""
    return strictjson.encode(msgspec.to_builtins(job))


def decode_job(name: str, data: bytes) -> Job:
    """Decode a batch from stored JSON. Raises: CorruptRecord."""
    job: Job = _decode(data, Job, f"the batch {name!r}")
    return job


def outcome_key(name: str, id: str) -> str:
    """The key of a request's outcome. No name has a colon, so the prefix of a batch fits no other batch."""
    return f"{name}:{id}"


def decode_settled(key: str, data: bytes) -> Settled:
    """Decode the outcome of a request from stored JSON. Raises: CorruptRecord."""
    settled: Settled = _decode(data, Settled, f"the outcome {key!r} of a batch")
    return settled


def show_job(name: str, job: Job, settled: Mapping[str, Settled]) -> Batch:
    """A batch with the outcomes of its requests, by their ids."""
    entries = []
    for each in job.entries:
        outcome = settled.get(each.id, Settled())
        entries.append(BatchEntry(each.id, each.about.turns, each.about.bookmark, outcome.turn, outcome.error))
    return Batch(name, job.provider, job.model, job.ptr, job.state, job.remote, job.time, tuple(entries))


def _decode(data: bytes, kind: Any, what: str) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptRecord(what, f"it does not decode ({error})") from None
