"""Answers of all providers: whole, or event by event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headish.errors import InvalidArgument
from headish.providers.registry import find_provider
from headish.providers.shared.reply import ReplyReader
from headish.providers.shared.values import Delta, Reply
from headish.values.checks.doors import RECORD, door


class Stream:
    """The answer of a provider while it arrives: ``feed`` each event, then ``finish``.

    ``model`` is the requested one, for a provider that does not say which model answered. ``tool_names`` are those of
    the request (``Request.tool_names``), so that a call comes back under the thread's name. ``seed`` goes into the ids
    of calls that have none, if the answer has no id either. ``dialect`` is that of the request.
    Raises: UnknownFormat for an unknown provider or dialect.
    """

    def __init__(
        self,
        provider: str,
        *,
        model: str | None = None,
        tool_names: Mapping[str, str] | None = None,
        seed: str = "",
        dialect: str | None = None,
    ) -> None:
        reader = find_provider(provider).reader
        self.is_empty = False
        """Whether ``read`` got no event at all."""
        self._reader: ReplyReader = reader(model=model, tool_names=tool_names, seed=seed, dialect=dialect)

    @property
    def ended(self) -> bool:
        """Whether the answer is at its end: the provider announced it, or failed."""
        return self._reader.done or self._reader.error is not None

    def feed(self, event: Mapping[str, Any] | Any) -> list[Delta]:
        """Take an event (a mapping, or an object of the provider's SDK); return what to show of it, in order.

        A whole response counts as a short stream. An unknown event is kept with the reply and noted.
        Raises: InvalidArgument if the value is not an event.
        """
        record, reader = event if type(event) is dict else as_mapping(event), self._reader
        if not reader.is_response(record):
            return reader.feed(record)
        return [delta for each in reader.events_of(record) for delta in reader.feed(each)]

    def read(self, events: Iterable[Mapping[str, Any] | Any]) -> Reply:
        """The reply of all events, for a caller that shows none of them: as ``feed`` with each, then ``finish``."""
        reader, event = self._reader, None
        for event in events:
            record = event if type(event) is dict else as_mapping(event)
            for each in reader.events_of(record) if reader.is_response(record) else (record,):
                reader.feed(each)
        self.is_empty = event is None
        return reader.finish()

    def fail(self, message: str) -> None:
        """Record why the answer ended early, if the provider gave no error: the reply is incomplete."""
        self._reader.break_off(message)

    def finish(self) -> Reply:
        """The reply with everything that arrived; ``incomplete`` if its end never came."""
        return self._reader.finish()


@door(tool_names=RECORD)
def parse_response(
    provider: str,
    response: Mapping[str, Any] | Any,
    *,
    model: str | None = None,
    tool_names: Mapping[str, str] | None = None,
    seed: str = "",
    dialect: str | None = None,
) -> Reply:
    """A whole response as a reply, equal to the one of its stream. The arguments are those of ``Stream``."""
    reader = find_provider(provider).reader(model=model, tool_names=tool_names, seed=seed, dialect=dialect)
    for event in reader.events_of(as_mapping(response)):
        reader.feed(event)
    return reader.finish()


def as_mapping(event: Mapping[str, Any] | Any) -> Mapping[str, Any]:
    """An event as a mapping; an object of an SDK is converted by its ``model_dump``."""
    if isinstance(event, Mapping):
        return event
    dump = getattr(event, "model_dump", None)
    if dump is None:
        raise InvalidArgument(f"an event is a mapping, not {type(event).__name__}")
    # Under the names of the API, and without the nulls that the SDK adds for keys which the provider did not send.
    dumped: Mapping[str, Any] = dump(mode="json", by_alias=True, exclude_unset=True)
    return dumped
