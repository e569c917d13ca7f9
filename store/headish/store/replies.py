"""The part of the door for answers: whole, while they arrive, or from what a dead process left behind."""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from headish.answers.journal import LEASE_SECONDS, About, Journal
from headish.content.drafts import Draft, make_message_draft
from headish.content.encoding import encode_payload
from headish.database.query import Connection
from headish.errors import (
    CorruptTurn,
    HeadishError,
    InputError,
    InvalidArgument,
    InvalidReply,
    TooLarge,
    UnknownStream,
    Unrepresentable,
)
from headish.history.append import Appended
from headish.history.append_reply import append_reply
from headish.providers.registry import check_provider
from headish.providers.shared.values import Emission, Reply
from headish.rows import streams as journals
from headish.rows.streams import FINISHED, RECOVERED, StoredStream
from headish.rows.turns import turn_by_id
from headish.store.requests import RequestingSpace
from headish.store.space import Heads
from headish.values.grammar import parse_headish
from headish.values.ids import TurnId
from headish.values.messages import Message, Note
from headish.values.turns import Turn

if TYPE_CHECKING:
    from headish.answers.capture import Capture

Answered = Heads | Emission
"""What an answer continues: a headish, or the request that was sent (which pinned its turns)."""
Response = bytes | str | Mapping[str, Any] | Iterable[Any]

log = logging.getLogger("headish")


class ReplyingSpace(RequestingSpace):
    """The methods that store what providers answer."""

    recovered: tuple[Turn, ...] = ()
    """The turns that opening the store made of what dead processes had left."""

    def reply(self, headish: Answered, provider: str, response: Response) -> Turn:
        """Store an answer as the assistant turn that continues a headish; its bookmark is carried on.

        ``response`` is a whole response (a mapping, an SDK's object, JSON text) or a stream (the text of server-sent
        events, JSON lines, or an iterable of events). One that ends without its end becomes an incomplete turn.
        ``turn.meta.reply`` keeps the model, stop reason and usage beside it.
        Raises: InvalidReply for text that is neither; UnknownTurn, UnknownFormat.
        """
        about = self._about(headish, provider)
        return self._store_reply(about, self._read_response(about, response), None)

    def capture(
        self, headish: Answered, provider: str, *, replaces: Turn | None = None, lease_seconds: float = LEASE_SECONDS
    ) -> Capture:
        """Begin to store an answer that arrives event by event: ``feed`` each, then ``finish``.

        What was fed is journalled while it arrives: of a process that dies, ``recover`` makes an incomplete turn once
        the lease has run out. ``replaces`` is an earlier answer: a bookmark that points there moves over to this one.
        """
        from headish.answers.capture import Capture  # late: most processes ask nobody

        about = self._about(headish, provider)
        if replaces is not None:
            about = replace(about, replaces=replaces.id, bookmark=about.bookmark or replaces.meta.head)
        encoded = msgspec.json.encode(about)
        journal = Journal(self._database, self._number, self._mint.mint(), encoded, lease_seconds)
        return Capture(about, journal, self._store_reply, self._payload_limit_bytes)

    def recover(self, *, force: bool = False) -> list[Turn]:
        """Turn what dead processes left of answers into turns, incomplete where their end never came.

        A stream whose writer may live (its lease has not run out) is left alone, unless ``force``.
        """
        now = time.time_ns() // 1_000_000
        found = self._database.read(lambda connection: journals.open_streams(connection, self._number))
        turns = [self._recover(each, force=force) for each in found if force or each.expires < now]
        return [turn for turn in turns if turn is not None]

    def streams(self) -> list[TurnId]:
        """The answers that are arriving, by the ids of their streams, oldest first."""
        found = self._database.read(lambda connection: journals.open_streams(connection, self._number))
        return [each.id for each in found]

    def _recover_on_open(self) -> None:
        """Recover what can be, and say so: the log's warnings go to standard error where nobody set it up."""
        try:
            self.recovered = tuple(self.recover())
            for turn in self.recovered:
                log.warning("headish: an answer that was cut off is kept as the incomplete turn %s", turn.id)
        except HeadishError as error:
            log.warning("headish: an answer that was cut off waits to be recovered: %s", error)

    def _about(self, answered: Answered, provider: str) -> About:
        check_provider(provider)
        if isinstance(answered, Emission):
            if answered.provider != provider or not answered.turns:
                raise InvalidArgument(f"the request was not made by a store for {provider}")
            return _about_request(answered)
        try:
            return _about_request(self.request(answered, provider))
        except (InputError, Unrepresentable):
            # It could not be asked now, and was answered all the same: only what it continues is needed.
            first = parse_headish(answered if isinstance(answered, str) else answered[0]).bookmark
            turns, bookmark = self._walk(answered, lambda connection, places: self._pin(connection, places, first))
            return About(provider, turns, bookmark)

    def _read_response(self, about: About, response: Response) -> Reply:
        from headish.providers.events.decoder import read_events

        if isinstance(response, bytes | str):
            return _read_text(about, read_events(response))
        whole = isinstance(response, Mapping) or hasattr(response, "model_dump")
        return _read_stream(about, [response] if whole else response)

    def _store_reply(self, about: About, reply: Reply, stream: TurnId | None, outcome: str = FINISHED) -> Turn:
        draft = self._draft(about, reply) if stream is None else self._fitting_draft(about, reply)

        def work(connection: Connection) -> Turn:
            open_stream = None if stream is None else journals.lock_stream(connection, self._number, stream)
            if open_stream is not None and open_stream.outcome == FINISHED:
                return self._stored(connection, open_stream)
            appended = self._append_behind(connection, draft, about.turns, about.bookmark, about.replaces)
            if open_stream is not None:
                journals.close_stream(connection, self._number, open_stream.id, outcome, appended.turn.id)
            return self._turn(appended)

        return self._database.write(work)

    def _recover(self, found: StoredStream, *, force: bool) -> Turn | None:
        """The turn of a stream whose writer is gone; None where somebody was quicker, or the writer lives after all."""
        chunks = self._database.read(lambda connection: journals.journal_of(connection, self._number, found.id))
        about, events = _decode_stream(found, chunks)
        draft = self._fitting_draft(about, _read_stream(about, events))

        def work(connection: Connection) -> Turn | StoredStream | None:
            now = journals.lock_stream(connection, self._number, found.id)
            if now is None or now.outcome is not None:
                return None
            if now.expires != found.expires:
                return now
            appended = self._append_behind(connection, draft, about.turns, about.bookmark, about.replaces)
            journals.close_stream(connection, self._number, found.id, RECOVERED, appended.turn.id)
            return self._turn(appended)

        ended = self._database.write(work)
        if isinstance(ended, StoredStream):  # its writer has written to it while it was read
            return self._recover(ended, force=True) if force else None
        return ended

    def _append_behind(
        self, connection: Connection, draft: Draft, turns: tuple[TurnId, ...], bookmark: str | None,
        replaces: TurnId | None = None,
    ) -> Appended:  # fmt: skip
        name = None if bookmark is None else bookmark.encode()
        return append_reply(connection, self._number, draft, turns, name, replaces, self._mint.mint)

    def _stored(self, connection: Connection, ended: StoredStream) -> Turn:
        """The turn that became of a stream: asked again after the answer to the first time was lost."""
        stored = None if ended.turn is None else turn_by_id(connection, self._number, ended.turn)
        if stored is None:
            raise UnknownStream(ended.id)
        return self._complete(connection, stored)

    def _fitting_draft(self, about: About, reply: Reply) -> Draft:
        """``_draft`` of an answer that nobody has but us: of one that is too large, the blocks that a turn can hold."""
        try:
            return self._draft(about, reply)
        except TooLarge:
            sizes = list(accumulate(len(encode_payload((block,))) for block in reply.content))
            kept = bisect_right(sizes, self._payload_limit_bytes)
            note = Note(f"of the answer's {len(reply.content)} blocks the first {kept} are kept: it is too large")
            notes = (*reply.notes, note)
            return self._draft(about, replace(reply, content=reply.content[:kept], incomplete=True, notes=notes))

    def _draft(self, about: About, reply: Reply) -> Draft:
        """The turn of a reply, with what is kept beside it; details too large to be kept are given up, noted."""
        message = Message(role="assistant", content=reply.content)
        record = reply.to_record() | about.asked
        limit = self._payload_limit_bytes
        try:
            return make_message_draft(message, limit, system={"reply": record})
        except TooLarge as error:
            if error.what != "transcript":
                raise
            notes = ["what else the provider said is too large to be kept"]
            brief = {key: value for key, value in record.items() if key not in ("details", "notes", "error")}
            return make_message_draft(message, limit, system={"reply": {**brief, "notes": notes}})


def _decode_stream(found: StoredStream, chunks: Iterable[bytes]) -> tuple[About, list[Any]]:
    try:
        events = [msgspec.json.decode(line) for chunk in chunks for line in chunk.splitlines()]
        return msgspec.json.decode(found.about, type=About), events
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptTurn(f"of the stream {found.id}", f"its journal does not decode ({error})") from None


def _about_request(request: Emission) -> About:
    """Of a pointer its name is enough: what it says of the server is looked up when it is asked again."""
    named = request.ptr is None
    return About(
        request.provider,
        request.turns,
        request.bookmark,
        request.model,
        request.ptr,
        dict(request.tool_names),
        base_url=request.base_url if named else None,
        key_env=request.key_env if named else None,
    )


def _read_text(about: About, events: Iterator[Any]) -> Reply:
    """The reply of a text. One that breaks off inside an event is kept as far as it came.

    Raises: InvalidReply where nothing of it is an answer of the provider.
    """
    from headish.answers.capture import open_stream

    stream, count = open_stream(about), 0
    try:
        for event in events:
            stream.feed(event)
            count += 1
    except InvalidReply as error:
        if not count:
            raise
        stream.fail(str(error))
    reply = stream.finish()
    if count and reply.details.keys() == {"unknown_events"} and not (reply.content or reply.id or reply.error):
        raise InvalidReply("a reply", f"nothing of it is an answer of {about.provider}", 1)
    return reply


def _read_stream(about: About, events: Iterable[Any]) -> Reply:
    from headish.answers.capture import open_stream

    stream = open_stream(about)
    for event in events:
        stream.feed(event)
    return stream.finish()
