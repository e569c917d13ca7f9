"""The part of the door that asks: a turn of the user's, a request over HTTP, and the answer as the next turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from headish.content.drafts import Continues
from headish.content.encoding import Content
from headish.errors import InvalidArgument, UnknownPointer
from headish.providers import Delta, Emission
from headish.providers.registry import check_provider
from headish.store.replies import ReplyingSpace
from headish.store.requests import ToolList
from headish.store.space import Heads
from headish.store.write import WritingSpace
from headish.values.grammar import parse_headish
from headish.values.turns import Turn

if TYPE_CHECKING:
    from headish.answers.answer import Answer
    from headish.calls import Told

OnDelta = Callable[[Delta], object]


class AskingSpace(WritingSpace, ReplyingSpace):
    """The methods that call providers (extra ``call``)."""

    def ask(
        self,
        content: Content | None = None,
        *,
        continues: Continues = None,
        bookmark: str | None = None,
        ptr: str | None = None,
        to: str | None = None,
        model: str | None = None,
        tools: ToolList | None = None,
        servers: Sequence[str] | None = None,
        on_delta: OnDelta | None = None,
        **call: Any,
    ) -> Turn:
        """Say something, ask the provider, and store its answer as the turn that comes next.

        ``content`` becomes a turn of the user's, as ``add_turn`` would store it (``ptr`` and ``servers`` are inherited
        from it on); without it the thread is asked from as it stands. ``on_delta`` gets each piece of the answer as it
        arrives. ``to``, ``model``, ``tools`` and further settings are those of ``request``; ``base_url``, ``key_env``,
        ``headers``, ``timeouts`` (or the seconds that the provider may be silent), ``attempts`` and ``told`` those of
        ``headish.calls.open_call``.
        An answer that is cut off is stored as far as it came: see ``turn.meta.reply["incomplete"]``.
        Raises: as ``add_turn`` and ``request``; CallError where nothing of an answer came; the user's turn stays.
        """
        said = self.say(content, continues=continues, bookmark=bookmark, ptr=ptr, to=to, servers=servers)
        with self.open_answer(*said, ptr=ptr, to=to, model=model, tools=tools, **call) as answer:
            for delta in answer:
                if on_delta is not None:
                    on_delta(delta)
        return answer.finish()

    def say(
        self,
        content: Content | None,
        *,
        continues: Continues = None,
        bookmark: str | None = None,
        ptr: str | None = None,
        to: str | None = None,
        servers: Sequence[str] | None = None,
    ) -> tuple[Heads, str | None]:
        """Store what the user says; the turn that is to be asked from, and the bookmark that it carries.

        Whether anybody can be asked, and with which tools, is looked at first: nothing is said twice because a pointer
        was missing.
        """
        if content is None:
            if bookmark is not None or servers is not None:
                raise InvalidArgument("bookmark and servers belong to something that is said: give content")
            return _heads(continues), None
        self._check_asked(_heads(continues) if continues is not None else None, ptr, to)
        for server in servers or ():
            self.tools(server)
        turn = self.add_turn(content, continues=continues, bookmark=bookmark, provider_ptr=ptr, servers=servers)
        # The turn, not its name: somebody else may have moved that by the time the request is made.
        return turn.id, turn.meta.head

    def open_answer(
        self,
        headish: Heads = "@",
        bookmark: str | None = None,
        *,
        ptr: str | None = None,
        to: str | None = None,
        model: str | None = None,
        tools: ToolList | None = None,
        base_url: str | None = None,
        key_env: str | None = None,
        headers: Mapping[str, str] | None = None,
        told: Told | None = None,
        timeouts: Any = None,
        attempts: int = 4,
        **settings: Any,
    ) -> Answer:
        """Ask the provider to continue a headish; the answer is iterated over, and stored at its end.

        ``bookmark`` moves on to the answer if it still points there by then; left out, the one that the headish names.
        Raises: as ``request``; CallError where nothing of an answer came.
        """
        request = self.request(headish, to, ptr=ptr, tools=tools, model=model, **settings)
        request = replace(request, bookmark=bookmark or request.bookmark)
        call = {"base_url": base_url, "key_env": key_env, "headers": headers, "told": told, "timeouts": timeouts}
        return self._open(request, None, stream=settings.get("stream", True), attempts=attempts, **call)

    def retry(self, headish: str = "@", *, on_delta: OnDelta | None = None, **call: Any) -> Turn:
        """Ask again what a turn answered: the new answer stands beside it, and its bookmark moves over.

        Who is asked is what the thread's pointer says, else who answered before. Further arguments are those of
        ``open_answer``.
        Raises: InvalidArgument for a turn that is no answer; as ``open_answer``.
        """
        with self.open_retry(headish, **call) as answer:
            for delta in answer:
                if on_delta is not None:
                    on_delta(delta)
        return answer.finish()

    def open_retry(
        self, headish: str = "@", *, stream: bool = True, attempts: int = 4, told: Told | None = None,
        timeouts: Any = None, headers: Mapping[str, str] | None = None, base_url: str | None = None,
        key_env: str | None = None, **settings: Any,
    ) -> Answer:  # fmt: skip
        """``retry``, answered step by step as ``open_answer`` does it."""
        name = parse_headish(headish).bookmark
        turn, bookmark = self._read(headish, lambda connection, stored: self._pinned(connection, stored, name))
        if turn.meta.role != "assistant" or not turn.meta.continues:
            raise InvalidArgument(f"turn {turn.id} is no answer: only an answer can be asked for again")
        request = self._request_again(turn, {**settings, "stream": stream})
        request = replace(request, bookmark=bookmark or turn.meta.head)
        call = {"base_url": base_url, "key_env": key_env, "headers": headers, "told": told, "timeouts": timeouts}
        return self._open(request, turn, stream=stream, attempts=attempts, **call)

    def _request_again(self, turn: Turn, settings: dict[str, Any]) -> Emission:
        """The request of an answer's question: to the server that was named for it, else to whom the thread names."""
        parents, reply = list(turn.meta.continues), turn.meta.reply
        given = {key: value for key, value in settings.items() if value is not None}
        before = {"to": reply.get("provider"), "model": reply.get("model"), **given}
        if "base_url" in reply and not given.keys() & {"to", "ptr"}:
            # A thread does not go from a machine at home to a provider because nobody said the address again.
            request = self.request(parents, **before)
            return replace(request, ptr=None, base_url=reply["base_url"], key_env=reply.get("key_env"))
        try:
            return self.request(parents, **given)
        except UnknownPointer as error:
            if error.name is not None or not reply.get("provider"):
                raise
            return self.request(parents, **before)

    def _open(
        self, request: Emission, replaces: Turn | None, *, stream: bool, base_url: str | None, key_env: str | None,
        timeouts: Any, **given: Any,
    ) -> Answer:  # fmt: skip
        from headish.answers.answer import Answer
        from headish.calls import Timeouts, open_call

        if base_url is not None:  # a server that is named for this call has nothing to do with the pointer's key
            request = replace(request, ptr=None, base_url=base_url, key_env=None)
        request = replace(request, key_env=key_env or request.key_env)
        call = open_call(
            request.provider,
            request.body,
            model=request.model,
            stream=stream,
            base_url=request.base_url,
            key_env=request.key_env,
            timeouts=Timeouts(read_seconds=timeouts) if isinstance(timeouts, int | float) else timeouts or Timeouts(),
            **given,
        )
        try:
            capture = self.capture(request, request.provider, replaces=replaces)
        except BaseException:
            call.close()
            raise
        return Answer(request, call, capture)

    def _check_asked(self, headish: Heads | None, ptr: str | None, to: str | None) -> None:
        """Refuse what could not be asked anyway, before anything is stored."""
        if to is not None:
            check_provider(to)
        if ptr is not None:
            self.pointer(ptr)
        elif to is None:
            named = self.options(headish).get("provider_ptr") if headish else None
            if not isinstance(named, str):
                raise UnknownPointer(None)
            self.pointer(named)


def _heads(continues: Continues) -> Heads:
    if continues is None:
        return "@"
    if isinstance(continues, str):
        return continues
    if isinstance(continues, int) or not all(isinstance(each, str) for each in continues):
        raise InvalidArgument("what is asked from is a headish, or several")
    return [str(each) for each in continues]
