"""Verbs that ask: a turn of the user's, a request over HTTP, and the answer as the next turn (extra ``call``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from headish.content.drafts import Continues, TurnOptions
from headish.content.encoding import Content
from headish.errors import CallRefused, InvalidArgument, UnknownPointer, shown
from headish.history.definitions import find_pointer, find_tools, pointer_as_model, pointer_named
from headish.providers import Delta, Request
from headish.providers.clouds import cloud_at
from headish.providers.registry import check_provider
from headish.store.asking.origins import acting_options, has_arrived
from headish.store.asking.reply import capture
from headish.store.asking.request import choose_pointer, request
from headish.store.asking.tool_calls import named_turn
from headish.store.call_options import CallOptions
from headish.store.reading.tokens import ToolList
from headish.store.space import Headishes, Space
from headish.store.writing.add import add_turn
from headish.store.writing.many import add_turns
from headish.store.writing.overlays import compact_when_full
from headish.values.checks.doors import POSITIVE, door
from headish.values.ids import TurnId
from headish.values.messages import Note
from headish.values.names import check_name, stored_name
from headish.values.turns import Turn

if TYPE_CHECKING:
    from headish.calls import Call
    from headish.store.answers.answer import Answer

OnDelta = Callable[[Delta], object]


@door(request, CallOptions, attempts=POSITIVE)
def ask(
    space: Space,
    content: Content | None = None,
    *,
    continues: Continues = None,
    bookmark: str | None = None,
    force: bool = False,
    ptr: str | None = None,
    to: str | None = None,
    model: str | None = None,
    tools: ToolList | None = None,
    servers: Sequence[str] | None = None,
    system: str | None = None,
    inherited: Mapping[str, Any] | None = None,
    on_delta: OnDelta | None = None,
    compact: Literal["auto"] | None = None,
    **options: Any,
) -> Turn:
    """Say something, ask the provider, and store its reply as the turn that comes next.

    ``content`` becomes a turn of the user's, as ``add_turn`` would store it (``ptr``, ``servers`` and ``inherited``
    apply from it on); without it, the model is asked from the thread as it is. ``system`` begins a thread: a system
    message before what is said. ``on_delta`` gets each piece of the answer as it arrives. ``options`` are those of
    ``open_answer``. ``compact="auto"``: if the thread fills most of its pointer's context window, its oldest part is
    summarized first, as ``compact`` does; what is still over is cut. An answer that is cut off is stored as far as it
    came: see ``turn.meta.reply["incomplete"]``.
    Raises: as ``add_turn`` and ``request``; CallError where nothing of an answer came; the user's turn stays.
    """
    if compact is not None:
        continues, options = _compact(space, continues, ptr, compact, options)
    question = say(
        space, content, continues=continues, bookmark=bookmark, force=force, ptr=ptr, to=to, servers=servers,
        system=system, model=model, inherited=inherited,
    )  # fmt: skip
    return _listen(open_answer(space, *question, ptr=ptr, to=to, model=model, tools=tools, **options), on_delta)


@door()
def say(
    space: Space,
    content: Content | None,
    *,
    continues: Continues = None,
    bookmark: str | None = None,
    force: bool = False,
    ptr: str | None = None,
    to: str | None = None,
    servers: Sequence[str] | None = None,
    system: str | None = None,
    model: str | None = None,
    inherited: Mapping[str, Any] | None = None,
) -> tuple[Headishes, str | None]:
    """Store what the user says; return the turn to ask from, and the bookmark that moved to it.

    ``system`` begins a thread with a system message; both turns are stored in one transaction. A thread that names no
    pointer yet gets the one it is asked by: the one that ``model`` names, or the space's default. The pointer and the
    tools are checked before anything is stored, so the user never has to say something twice.
    """
    space._check_writable()
    if content is None:
        if any(each is not None for each in (bookmark, servers, system, inherited)):
            arguments = "bookmark, servers, system and inherited"
            raise InvalidArgument(f"{arguments} belong to something that is said: give content")
        return _as_headishes(continues), None
    if system is not None and continues is not None:
        raise InvalidArgument(
            "system begins a thread; on one that exists, a turn of the role system says it: "
            "headish add --role system -c HEADISH, or add_turn(…, role='system')"
        )
    ptr_to_set = _check_asked(space, None if continues is None else _as_headishes(continues), ptr, to, model, servers)
    names: TurnOptions = {"continues": continues, "bookmark": bookmark, "force": force}
    names |= {"provider_ptr": ptr_to_set, "servers": servers, "inherited": inherited}
    if system is None:
        turn = add_turn(space, content, **names)
    else:
        instruction: dict[str, Any] = {"content": system, "role": "system"}
        # 0 is the index of the system turn in the same call.
        question: dict[str, Any] = {**names, "content": content, "continues": 0}
        turn = add_turns(space, [instruction, question])[1]
    # The turn, not its name: another writer may move the name before the request is made.
    return turn.id, turn.meta.bookmark


@door(request, CallOptions, attempts=POSITIVE)
def open_answer(
    space: Space,
    headish: Headishes = "@",
    bookmark: str | None = None,
    *,
    ptr: str | None = None,
    to: str | None = None,
    model: str | None = None,
    tools: ToolList | None = None,
    **options: Any,
) -> Answer:
    """Ask the provider to continue a headish; iterate over the answer, which is stored at its end.

    ``bookmark`` moves on to the reply if it still points there by then; left out, the one that the headish names.
    ``ptr``, ``to``, ``model`` and ``tools`` are those of ``request``. ``options`` are further settings of ``request``,
    and how the provider is called (``headish.calls.open_call``): ``base_url``, ``key_env``, ``headers``, ``timeouts``
    (the seconds that the provider may be silent, or those of ``store.pointers.set``; by default a call ends after an
    hour), ``attempts``, ``told`` and ``stop``. ``params`` are for this call alone, and kept in the reply's meta.
    Raises: as ``request``; CallError where nothing of an answer came.
    """
    # First: an answer that cannot be stored must not be paid for.
    space._check_writable()
    call, settings = _split(options)
    asked = request(space, headish, to, ptr=ptr, tools=tools, model=model, base_url=call.get("base_url"), **settings)
    asked = replace(asked, bookmark=bookmark or asked.bookmark)
    return _open(space, asked, None, settings.get("stream") is not False, call)


@door(request, CallOptions, attempts=POSITIVE)
def retry(space: Space, headish: str = "@", *, on_delta: OnDelta | None = None, **options: Any) -> Turn:
    """Ask for another reply in place of a turn: the new one is stored beside it, and its bookmark moves to it.

    The provider is that of the thread's pointer, else the one that replied before. A reply that came from elsewhere (a
    bundle, a remote) does not decide: its server could be anybody's, and would get your key. ``options`` are those of
    ``open_answer``.
    Raises: InvalidArgument for a turn that is not a reply; as ``open_answer``.
    """
    return _listen(open_retry(space, headish, **options), on_delta)


@door(request, CallOptions, attempts=POSITIVE)
def open_retry(space: Space, headish: str = "@", *, stream: bool = True, **options: Any) -> Answer:
    """``retry`` as an answer to iterate over, as ``open_answer`` gives it."""
    space._check_writable()
    turn, bookmark = named_turn(space, headish)
    if turn.meta.role != "assistant" or not turn.meta.continues:
        raise InvalidArgument(f"turn {turn.id} is not an answer: only an answer can be asked for again")
    call, settings = _split(options)
    asked = _ask_again(space, turn, {**settings, "stream": stream, "base_url": call.get("base_url")})
    return _open(space, replace(asked, bookmark=bookmark or turn.meta.bookmark), turn, stream, call)


def _compact(
    space: Space, continues: Continues, ptr: str | None, compact: str, options: dict[str, Any]
) -> tuple[Continues, dict[str, Any]]:
    """Compact the thread if it is full; return what to continue, and the options with a budget for what is still too
    long."""
    if compact != "auto":
        raise InvalidArgument(f"compact is 'auto' or None, not {shown(compact)}")
    call, _ = _split(options)
    # Only one headish names a thread that can be compacted; for others there is the budget.
    turn = compact_when_full(space, continues, ptr=ptr, **call) if isinstance(continues, str) else None
    if turn is not None and continues != turn.meta.bookmark:
        continues = turn.id
    return continues, {"budget": "auto", **options}


def _listen(answer: Answer, on_delta: OnDelta | None) -> Turn:
    """Read an answer to its end."""
    with answer:
        for delta in answer:
            if on_delta is not None:
                on_delta(delta)
    return answer.finish()


def _split(options: Mapping[str, Any]) -> tuple[CallOptions, dict[str, Any]]:
    """Split options into those of the call and the settings of its request."""
    call: Any = {key: value for key, value in options.items() if key in CallOptions.__annotations__}
    return call, {key: value for key, value in options.items() if key not in call}


def _ask_again(space: Space, turn: Turn, settings: dict[str, Any]) -> Request:
    """Make the request of a reply anew: for the server that was named for that reply, else for the thread's
    provider."""
    parents = list(turn.meta.continues)
    # A turn from elsewhere must not decide which server gets the thread and a key now.
    reply = {} if has_arrived(space, turn.id) else turn.meta.reply
    own = {key: value for key, value in settings.items() if value is not None}
    if "params" in reply:
        own.setdefault("params", reply["params"])
    before = {"to": reply.get("provider"), "model": reply.get("model"), **own}
    if "base_url" in reply and not own.keys() & {"to", "ptr"}:
        # A thread must not go from a local server to a provider only because the address was not given again.
        is_other = own.get("base_url", reply["base_url"]) != reply["base_url"]
        server = {} if is_other else {"base_url": reply["base_url"], "dialect": reply.get("dialect")}
        asked = request(space, parents, **{**server, **before})
        asked = replace(asked, ptr=None, cloud=cloud_at(asked.provider, reply["base_url"]), headers={})
        return replace(asked, base_url=reply["base_url"], key_env=reply.get("key_env"))
    if reply.get("provider") and _names_nobody(space, parents, own):
        # Ask who replied before: the default may be another one by now.
        own = {"ptr": reply["ptr"], **own} if "ptr" in reply else before
    try:
        return request(space, parents, **own)
    except UnknownPointer as error:
        if error.name is not None or not reply.get("provider"):
            raise
        return request(space, parents, **before)


def _names_nobody(space: Space, headishes: list[TurnId], given: Mapping[str, Any]) -> bool:
    """Whether neither the settings of a call nor the thread name a provider."""
    if given.keys() & {"to", "ptr"} or pointer_named(acting_options(space, headishes)) is not None:
        return False
    model = given.get("model")
    return model is None or space._read_by(pointer_as_model, model) is None


def _open(space: Space, asked: Request, replaces: Turn | None, stream: bool, options: CallOptions) -> Answer:
    """Call the provider, and begin to capture what it answers."""
    from headish.store.answers.answer import Answer

    base_url = options.get("base_url")
    again = asked.ptr is None and base_url == asked.base_url  # the server of the reply that is asked for again
    # A server that is named for this call has nothing to do with the pointer's key.
    if base_url is not None and not again:
        cloud = cloud_at(asked.provider, base_url)
        asked = replace(asked, ptr=None, base_url=base_url, key_env=None, cloud=cloud, headers={})
    asked = replace(asked, key_env=options.get("key_env") or asked.key_env)
    try:
        call = _call(space, asked, stream, options)
    except CallRefused as error:
        if asked.whole is None or not _is_forgotten(error):
            raise
        # The server decides how long it keeps an answer, and here it no longer does.
        note = Note("the whole window is sent: the server no longer knows the stored answer")
        asked = replace(asked, body=asked.whole, whole=None, notes=(*asked.notes, note))
        call = _call(space, asked, stream, options)
    try:
        captured = capture(space, asked, asked.provider, replaces=replaces)
    # The call is open, and nobody else would close it.
    except BaseException:
        call.close()
        raise
    return Answer(asked, call, captured)


def _is_forgotten(error: CallRefused) -> bool:
    from headish.providers.openai_responses.particulars import is_unknown

    return is_unknown(error.status, error.message)


def _call(space: Space, asked: Request, stream: bool, options: CallOptions) -> Call:
    from headish.calls import Timeouts, open_call
    from headish.values.checks.headers import lower_names

    return open_call(
        asked.provider,
        asked.body,
        model=asked.model,
        stream=stream,
        base_url=asked.base_url,
        key_env=asked.key_env,
        cloud=asked.cloud,
        headers=asked.headers | lower_names(options.get("headers")),
        told=options.get("told"),
        timeouts=Timeouts.of(options.get("timeouts"), _limits_of(space, asked)),
        attempts=options.get("attempts", 4),
        stop=options.get("stop"),
    )


def _limits_of(space: Space, asked: Request) -> Mapping[str, float]:
    """The time limits of the pointer that a request was made by; none if it was removed since."""
    if asked.ptr is None:
        return {}
    try:
        return space._read_by(find_pointer, asked.ptr.encode()).timeouts
    # The pointer was removed after the request was made; the request itself still holds.
    except UnknownPointer:
        return {}


def _check_asked(
    space: Space, headish: Headishes | None, ptr: str | None, to: str | None, model: str | None,
    servers: Sequence[str] | None,
) -> str | None:  # fmt: skip
    """Refuse a call that cannot be made, before anything is stored; return the pointer for the new turn to set, if
    any."""
    if to is not None:
        check_provider(to)
    ptr_name = None if ptr is None else check_name(ptr, "provider pointer")
    ptr_to_set = ptr
    if ptr_name is None and to is None:
        options = acting_options(space, headish) if headish else {}
        ptr_name = space._read_by(choose_pointer, options, None, model)
        if ptr_name is None:
            raise UnknownPointer(None)
        ptr_to_set = stored_name(ptr_name) if pointer_named(options) is None else None
    if ptr_name is not None:
        space._read_by(find_pointer, ptr_name)
    for server in servers or ():
        space._read_by(find_tools, check_name(server, "server"))
    return ptr_to_set


def _as_headishes(continues: Continues) -> Headishes:
    if continues is None:
        return "@"
    if isinstance(continues, str):
        return continues
    if not isinstance(continues, Sequence) or not all(isinstance(each, str) for each in continues):
        raise InvalidArgument("what is asked from is a headish, or several")
    return [str(each) for each in continues]
