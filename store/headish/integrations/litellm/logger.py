"""``HeadishLogger``: record the calls that a program makes through LiteLLM as turns, whichever provider answers.

A client sends its whole list with each call: ``record`` stores the new tail, and the answer continues it. The logger
reads nothing else of a call, so API keys and headers stay out of the database.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from headish.adapters.healing import heal
from headish.adapters.holding import DatabaseHold, Db, Scoped
from headish.adapters.naming import check_name
from headish.aio.threads import WAITING_THREADS, finish_or_stop
from headish.errors import HeadishError, InvalidArgument, shown
from headish.integrations.litellm.open_calls import OpenCalls, UnendedCall

log = logging.getLogger("headish")

CALLS = ("completion", "acompletion")
"""The types of calls that are recorded: chat completions."""
_OURS = frozenset(("provider_specific_fields",))
"""The keys that LiteLLM adds to a provider's message."""
Named = str | Callable[[Mapping[str, Any]], str | None] | None


class HeadishLogger(CustomLogger, Scoped):
    """A callback of LiteLLM: ``litellm.callbacks = [HeadishLogger("calls.db")]``. A context manager.

    - ``db``: a path, a URL, ``":memory:"`` or an open ``Database``.
    - ``bookmark``: the name of the conversation, or a function that returns it for a call's keyword arguments. Without
      one, a list is recognised by its content and gets no name.

    The logger records chat completions, whole and streamed, sync and async, and ignores other calls. If it cannot store
    a call, it writes a warning to the log ``headish``, and the program goes on.
    Raises: InvalidName, InvalidArgument. AdapterClosed becomes a warning, too.
    """

    def __init__(self, db: Db, *, bookmark: Named = None, space: str = "default") -> None:
        super().__init__()
        if isinstance(bookmark, str):
            check_name(bookmark, is_new=True)
        elif bookmark is not None and not callable(bookmark):
            raise InvalidArgument(f"bookmark is a name or a function, not {shown(bookmark)}")
        self._bookmark = bookmark
        self._held = DatabaseHold(db, "the logger", space)
        self._open = OpenCalls()

    def log_pre_api_call(self, model: str, messages: list[Any], kwargs: dict[str, Any]) -> None:
        """Copy the list as it was sent: the program may append to it before LiteLLM reports the answer."""
        listed = kwargs.get("messages")
        if isinstance(listed, list) and kwargs.get("call_type") in CALLS:
            try:
                self._open.begin(_id_of(kwargs), [_plain(each) for each in listed])
            except (TypeError, ValueError, AttributeError) as error:
                log.warning("a call of LiteLLM is not stored: %s", error)

    def log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Record a call."""
        self._record(kwargs, response_obj)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Record a call in a thread of a pool, even if the program ends meanwhile."""
        record = partial(self._record, kwargs, response_obj)
        await finish_or_stop(_nothing, WAITING_THREADS, record, may_be_taken_back=False)

    def log_failure_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Forget a call that failed: it has no answer."""
        self._open.forget(_id_of(kwargs))

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """As ``log_failure_event``."""
        self._open.forget(_id_of(kwargs))

    def close(self) -> None:
        """Release the database. A second call does nothing."""
        self._held.close()

    def _record(self, kwargs: Mapping[str, Any], response: Any) -> None:
        """Store the new part of a call's list, and the answer after it."""
        with self._open.ending(_id_of(kwargs)) as call:
            try:
                self._store(kwargs, call, response)
            # A logger must not fail the program. The other errors come from messages and responses of unknown shapes.
            except (HeadishError, TypeError, ValueError, AttributeError, LookupError) as error:
                log.warning("a call of LiteLLM is not stored: %s", error)

    def _store(self, kwargs: Mapping[str, Any], call: UnendedCall | None, response: Any) -> None:
        listed = kwargs.get("messages")
        sent = call.messages if call else [_plain(each) for each in listed] if isinstance(listed, list) else []
        if kwargs.get("call_type") not in CALLS or not sent:
            return
        name = self._bookmark(kwargs) if callable(self._bookmark) else self._bookmark
        messages, _ = heal(sent)
        answer, _ = heal(_answer(response))
        with self._held.use() as store:
            # A late call, which began before the latest one of this name, must not move the name back: it is a branch.
            moves = name is not None and self._open.may_move(name, call)
            recorded = store.record(messages, bookmark=name if moves else None, form="chat")
            if answer is not None:
                store.reply(recorded.tip.id, "openai", answer)


def _id_of(kwargs: Mapping[str, Any]) -> str:
    return str(kwargs.get("litellm_call_id"))


def _nothing() -> None:
    """Do nothing on cancellation: the call is recorded all the same."""


def _plain(message: Any) -> dict[str, Any]:
    """A message as a client of Chat Completions sends it, also if it is one of LiteLLM's objects."""
    fields = message if isinstance(message, Mapping) else message.model_dump()
    return {key: value for key, value in fields.items() if value is not None and key not in _OURS}


def _answer(response: Any) -> dict[str, Any] | None:
    """The response as a Chat Completion; None if it has no choices."""
    fields = response if isinstance(response, Mapping) else response.model_dump(exclude_none=True)
    choices = fields.get("choices") or ()
    if not choices:
        return None
    with_message = [{**each, "message": _plain(each["message"])} for each in choices if "message" in each]
    return {**fields, "choices": [_plain(each) for each in with_message]}
