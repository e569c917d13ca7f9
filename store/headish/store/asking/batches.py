"""``store.batches``: many requests at once, answered later at a lower price; each answer continues the head it was
asked about.

A batch is an object of the store (rule R38, objects). Only ``collect`` fetches its answers from the provider. It is
stored before the provider is asked, so a process that dies leaves at worst a batch whose creation is uncertain, and
``status`` looks for it at the provider.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from headish.calls.batches.choosing import find_batch_api
from headish.calls.batches.reading import Looked, Outcome
from headish.calls.deadline import Timeouts
from headish.calls.remote import Remote, may_exist
from headish.database.query import Connection
from headish.errors import (
    CallError,
    InputError,
    InvalidArgument,
    RecordChanged,
    UncertainBatch,
    UnknownBatch,
    UnknownObject,
)
from headish.history.writing.append import Appended
from headish.providers.registry import find_provider
from headish.providers.shared.shapes import healed
from headish.providers.shared.values import Request
from headish.rows.bookmarks import ALL
from headish.rows.objects import Put, find_object, put_object
from headish.store.answers.batches import (
    BATCH,
    OUTCOME,
    Job,
    JobEntry,
    Settled,
    check_batch_name,
    decode_job,
    decode_settled,
    encode_job,
    outcome_key,
    plan_job,
    show_job,
)
from headish.store.answers.reading import fitting_draft, read_response
from headish.store.asking.reply import append_reply
from headish.store.asking.request import request
from headish.store.keeping.objects import Objects
from headish.store.space import Space, SpacePart
from headish.values.checks.doors import TEXT, door
from headish.values.checks.headers import lower_names
from headish.values.ids import Mint, TurnId
from headish.values.names import ABSENT
from headish.values.results.batches import Batch, BatchStatus, CollectedBatch

PAGE = 1000
PROBLEMS_SHOWN = 100
"""How many results without a request are listed one by one."""


class Batches(SpacePart):
    """The batches of a space."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._objects = Objects(space)

    @door(request, name=TEXT, to=TEXT, ptr=TEXT)
    def create(
        self,
        heads: Iterable[str],
        *,
        name: str | None = None,
        to: str | None = None,
        ptr: str | None = None,
        model: str | None = None,
        base_url: str | None = None,
        key_env: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | float | None = None,
        **settings: Any,
    ) -> Batch:
        """Ask a provider to continue each of these heads, in one batch. ``collect`` stores its answers.

        Each request is made by ``store.request``, which takes ``to``, ``ptr``, ``model`` and further ``settings``, and
        pins the turn that its answer will continue. All go to one server; ``base_url``, ``key_env`` and ``headers`` are
        those of ``ask``. Without a ``name`` the batch is named ``batch-1``, ``batch-2`` …
        Cost: that of a request for each head.
        Raises: as ``request``; InvalidArgument for heads of several servers, or a provider without batches; TooLarge;
        CallError if nothing was created; UncertainBatch if that is unknown.
        """
        space = self._space
        space._check_writable()
        if settings.pop("stream", None):
            raise InvalidArgument("the answers of a batch come whole: it takes no stream")
        requests = [
            _at_server(
                _whole(request(space, each, to, ptr=ptr, model=model, stream=False, base_url=base_url, **settings)),
                base_url,
                key_env,
                headers,
            )
            for each in heads
        ]
        if not requests:
            raise InvalidArgument("a batch needs a head, or several")
        name, revision, job, batch_requests = self._keep(name, requests)
        api = find_batch_api(job.provider, job.server.cloud)
        try:
            remote = api.create(self._remote(job, timeouts), job.token, job.model, batch_requests)
        except BaseException as error:
            # The provider may have made the batch although its answer was lost. Forgetting it here would lose answers
            # that are paid for.
            if may_exist(error):
                if isinstance(error, CallError):
                    raise UncertainBatch(name, job.provider, error.reason) from None
                raise
            self._objects.remove(BATCH, name)
            raise
        return show_job(name, self._save(name, revision, replace(job, remote=remote)), {})

    def list(self) -> builtins.list[Batch]:
        """All batches, by name, with the outcomes collected so far. Calls no provider."""
        return [self.get(each.key) for each in self._objects.list(BATCH, limit=ALL)]

    @door(name=TEXT)
    def get(self, name: str) -> Batch:
        """A batch, with the outcomes collected so far. Calls no provider. Raises: UnknownBatch, CorruptRecord."""
        return show_job(name, self._read(name)[1], self._settled(name))

    @door(name=TEXT)
    def status(self, name: str, *, timeouts: Timeouts | float | None = None) -> BatchStatus:
        """Ask the provider how far a batch is. Stores nothing, with one exception: a batch whose creation was cut off
        becomes ``open`` if the provider has it.

        Raises: UnknownBatch; CallError; UncertainBatch if the provider does not have it.
        """
        job, looked = self._look(name, timeouts)
        return BatchStatus(show_job(name, job, self._settled(name)), looked.status, looked.ended, looked.counts)

    @door(name=TEXT)
    def collect(self, name: str, *, timeouts: Timeouts | float | None = None) -> CollectedBatch:
        """Store the answers of a batch; each continues the turn it was asked about, as ``reply`` would.

        Its bookmark moves along if it still points there. An answer is stored once, however often and by whomever it is
        collected. Failures and expiries are kept with the batch, unless the request has an answer, too. If the batch
        has not ended, nothing is stored. Results that cannot be read or belong to no request, and second ones, are
        ``problems``.
        Cost: a transaction for each answer; memory for one of them and for the failures.
        Raises: UnknownBatch; CallError, even in the middle: what was stored stays, and collecting again continues.
        """
        self._space._check_writable()
        job, looked = self._look(name, timeouts)
        if not looked.ended:
            return CollectedBatch(show_job(name, job, self._settled(name)), looked.status, False, ())
        collecting = _Collecting(self._space, name, job, self._settled(name))
        if looked.files or looked.inline or looked.failure is None:
            remote = self._remote(job, timeouts)
            for outcome in find_batch_api(job.provider, job.server.cloud).results(remote, job.remote or "", looked):
                collecting.take(outcome, remote)
        collecting.fail_failed()
        # With a result that belongs to an unknown request, nobody knows which have none, so all of those stay open.
        if looked.failure is not None and not collecting.has_unknown:
            collecting.fail_rest(looked.failure)
        settled = self._settled(name)
        if all(each.id in settled for each in job.entries) and not job.collected:
            # Read again: another collector may have stored a newer revision.
            job = self._save(name, self._read(name)[0], replace(job, collected=True))
        batch = show_job(name, job, settled)
        return CollectedBatch(batch, looked.status, True, tuple(collecting.turns), tuple(collecting.problems))

    @door(name=TEXT)
    def drop(self, name: str) -> None:
        """Forget a batch and the outcomes of its requests; the turns of its answers stay. headish does not cancel it at
        the provider.

        Raises: UnknownBatch.
        """
        try:
            self._objects.remove(BATCH, name)
        except UnknownObject:
            raise UnknownBatch(name) from None
        for key in [each.key for each in self._outcomes(name)]:
            try:
                self._objects.remove(OUTCOME, key)
            except UnknownObject:
                continue  # another drop was faster

    def _keep(self, name: str | None, requests: Sequence[Request]) -> tuple[str, int, Job, Any]:
        """Store a batch before its provider is asked. Raises: RecordChanged if the name is taken."""
        if name is not None:
            job, batch_requests = plan_job(check_batch_name(name), requests)
            return name, self._objects.put(BATCH, name, encode_job(job), expect=ABSENT), job, batch_requests
        taken = {each.key for each in self._objects.list(BATCH, prefix="batch-", limit=ALL)}
        number = 1
        while True:
            name = f"batch-{number}"
            number += 1
            if name in taken:
                continue
            job, batch_requests = plan_job(name, requests)
            try:
                return name, self._objects.put(BATCH, name, encode_job(job), expect=ABSENT), job, batch_requests
            except RecordChanged:
                continue  # another writer took it

    def _read(self, name: str) -> tuple[int, Job]:
        try:
            found = self._objects.get(BATCH, name)
        except UnknownObject:
            raise UnknownBatch(name) from None
        return found.revision, decode_job(name, found.data)

    def _look(self, name: str, timeouts: Timeouts | float | None) -> tuple[Job, Looked]:
        """Read a batch and ask its provider for its state. If creating it was cut off, first find it at the
        provider."""
        revision, job = self._read(name)
        api = find_batch_api(job.provider, job.server.cloud)
        remote = self._remote(job, timeouts)
        if job.remote is None:
            remote_id = api.find(remote, job.token, len(job.entries), job.time)
            if remote_id is None:
                reason = "the provider has no such batch, or none that can be told from others"
                raise UncertainBatch(name, job.provider, reason)
            job = self._save(name, revision, replace(job, remote=remote_id))
        return job, api.look(remote, job.remote or "")

    def _save(self, name: str, revision: int, job: Job) -> Job:
        """Store a batch anew, and return it; if another process was faster, return what that one stored."""
        try:
            self._objects.put(BATCH, name, encode_job(job), expect=revision)
        except RecordChanged:
            return self._read(name)[1]
        return job

    def _outcomes(self, name: str) -> Iterable[Any]:
        after: str | None = None
        prefix = outcome_key(name, "")
        while page := self._objects.list(OUTCOME, prefix=prefix, after=after, limit=PAGE):
            yield from page
            after = page[-1].key

    def _settled(self, name: str) -> dict[str, Settled]:
        prefix = outcome_key(name, "")
        return {each.key.removeprefix(prefix): decode_settled(each.key, each.data) for each in self._outcomes(name)}

    def _remote(self, job: Job, timeouts: Timeouts | float | None) -> Remote:
        server = msgspec.structs.asdict(job.server)
        # Some providers have the model in the URL of an answer, so a route needs one; the URLs of batches do not use
        # it.
        return Remote(job.provider, model=job.model or "any", timeouts=Timeouts.of(timeouts), **server)


class _Collecting:
    """Stores the results of a batch as turns, one after the other."""

    def __init__(self, space: Space, name: str, job: Job, settled: Mapping[str, Settled]) -> None:
        self.turns: list[TurnId] = []
        self.problems: list[str] = []
        self._space, self._name, self._job = space, name, job
        self._known = {each.id: each for each in job.entries}
        self._settled = set(settled)
        self._seen: set[str] = set()
        self._failed: dict[str, dict[str, str]] = {}
        self.has_unknown = False
        self._words = find_provider(job.provider).reader.words

    def take(self, outcome: Outcome, remote: Remote) -> None:
        """Store a result, or note why it cannot be stored."""
        entry = self._known.get(outcome.id or "")
        if outcome.problem is not None or entry is None:
            self.has_unknown = True
            shown = remote.redactor.show(str(outcome.id), 80)
            self._tell(outcome.problem or f"a result has the id {shown!r}, which no request of this batch has")
            return
        if entry.id in self._seen:
            self._tell(f"{entry.id} has another result, which is left out")
            # An answer may come after an error, and was paid for.
            if outcome.response is None or self._failed.pop(entry.id, None) is None:
                return
        self._seen.add(entry.id)
        # Collected by an earlier call, or by another collector.
        if entry.id in self._settled:
            return
        if outcome.response is not None:
            # A server may cut a character in half, which cannot be stored.
            response = healed(remote.redactor.clean(outcome.response, self._words))
            self._store(entry, response)
        else:
            error = (outcome.error or {}).items()
            self._failed[entry.id] = {key: remote.redactor.show(value, 500) for key, value in error}

    def fail_failed(self) -> None:
        """Record the failures of the requests that got no answer."""
        for id, error in self._failed.items():
            self._fail(self._known[id], error)

    def fail_rest(self, reason: str) -> None:
        """Record the failure of the whole batch for each request without a result."""
        for entry in self._job.entries:
            if entry.id not in self._settled | self._seen:
                self._fail(entry, {"type": "batch_failed", "message": reason})

    @property
    def _limit_bytes(self) -> int:
        return self._space._payload_limit_bytes

    def _tell(self, problem: str) -> None:
        if len(self.problems) < PROBLEMS_SHOWN:
            self.problems.append(problem)
        elif len(self.problems) == PROBLEMS_SHOWN:
            self.problems.append(f"and more: {PROBLEMS_SHOWN} are listed")

    def _store(self, entry: JobEntry, response: Mapping[str, Any]) -> None:
        """Store an answer and its outcome in one transaction; store nothing if another collector was faster."""
        space, key = self._space, outcome_key(self._name, entry.id)
        try:
            draft = fitting_draft(entry.about, read_response(entry.about, response), self._limit_bytes)
        except InputError as error:
            self._fail(entry, {"type": "not_stored", "message": str(error)})
            return

        def work(connection: Connection, mint: Mint) -> Appended | None:
            if find_object(connection, space._number, OUTCOME, key.encode()) is not None:
                return None
            appended = append_reply(space, entry.about, draft, connection, mint).built[0]
            put_object(connection, space._number, _put(key, Settled(turn=appended.turn.id)))
            return appended

        try:
            appended = space._store(work)
        except InputError as error:
            self._fail(entry, {"type": "not_stored", "message": str(error)})
            return
        if appended is not None:
            self.turns.append(appended.turn.id)

    def _fail(self, entry: JobEntry, error: dict[str, str]) -> None:
        space, put = self._space, _put(outcome_key(self._name, entry.id), Settled(error=error))

        def work(connection: Connection) -> None:
            if find_object(connection, space._number, put.kind, put.key) is None:
                put_object(connection, space._number, put)

        space._write(work)


def _put(key: str, settled: Settled) -> Put:
    return Put(OUTCOME, key.encode(), msgspec.json.encode(settled), ABSENT)


def _whole(asked: Request) -> Request:
    """The request with its whole window: hours later, nobody could send it again if the server had forgotten the answer
    that it continues."""
    return asked if asked.whole is None else replace(asked, body=asked.whole, whole=None)


def _at_server(asked: Request, base_url: str | None, key_env: str | None, headers: Mapping[str, str] | None) -> Request:
    """Send a request to the server that the caller named, if any; then nothing of the pointer's server applies."""
    if base_url is not None:
        asked = replace(asked, ptr=None, base_url=base_url, key_env=None, cloud=None, headers={})
    return replace(asked, key_env=key_env or asked.key_env, headers=asked.headers | lower_names(headers))
