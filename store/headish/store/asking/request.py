"""Verbs for requests: write a headish as a provider's request, and report what would be repaired in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from headish.content import strictjson
from headish.content.inherited import merge
from headish.content.secrecy.finding import LOOKS_LIKE_A_KEY, find_secret
from headish.database.query import Connection
from headish.errors import InvalidArgument, OverBudget, UnknownPointer, shown
from headish.history.definitions import find_default, find_pointer, pointer_as_model, pointer_named, tools_served
from headish.history.reading.documents import with_documents
from headish.history.reading.kept_by_providers import (
    RESPONSES,
    StoredResponse,
    find_container,
    find_stored,
    still_heard,
)
from headish.history.reading.options import option_origins, param_of
from headish.history.reading.walk import walk
from headish.history.windows.resolve import resolve_window
from headish.history.writing.replies import Pinned, pin_turns
from headish.providers.dialects.choosing import check_dialect, known_dialect
from headish.providers.pointers import Pointer
from headish.providers.registry import check_provider
from headish.providers.shared.values import Finding, Request
from headish.rows.threads.walks import Walked
from headish.store.asking.origins import acting_walk
from headish.store.reading.tokens import Budget, Count, ToolList, fill_documents, room_for_request
from headish.store.space import Headishes, Space
from headish.values.checks.doors import TEXT, door
from headish.values.grammar import parse_headishes
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow, Note
from headish.values.names import check_name
from headish.values.places import Place

if TYPE_CHECKING:
    from headish.history.budgets.fitting import Fit


class RequestParts(NamedTuple):
    """The parts of a request that come from the store, read in one transaction."""

    window: ContextWindow
    pinned: Pinned
    origins: dict[str, TurnId]
    ptr: str | None
    pointer: Pointer | None
    tools: list[Mapping[str, Any]]
    container: str | None = None
    """The container in which Anthropic ran the code of the thread's last answer, if it still exists."""


@door()
def request(
    space: Space,
    headish: Headishes = "@",
    to: str | None = None,
    *,
    ptr: str | None = None,
    tools: ToolList | None = None,
    model: str | None = None,
    params: Mapping[str, Any] | None = None,
    budget: Budget = None,
    count: Count | None = None,
    base_url: str | None = None,
    dialect: str | None = None,
    **settings: Any,
) -> Request:
    """The request that asks a provider to continue a headish.

    The provider is ``to``, else that of the pointer ``ptr``, else that of the pointer that ``model`` is the name of,
    else that of the thread's option ``provider_ptr``, else that of the space's default (``store.pointers.default``).
    Any other ``model`` is a model of that provider. The thread's parameters override the pointer's, and ``params``
    overrides both, for this request alone. The tools are those of the thread's ``servers`` (``Store.tools``) and those
    in ``tools``. Further ``settings`` are those of ``headish.providers.Settings``.

    ``budget`` and ``count`` are those of ``resolve``; ``"auto"`` goes by the pointer that is asked.

    ``dialect`` is how the server speaks Chat Completions; without it, it follows from ``base_url``, the server to ask
    instead of the pointer's, else from the pointer. Options of turns that came from elsewhere (a bundle, a remote that
    is not encrypted) have no effect, except sampling parameters; a note says what was left out.
    Cost: six statements and one for each server, however long the thread; one more where the thread sets options, two
    where a remote brought some, one more where the model or the default names the pointer, and with a budget one more
    at the most.
    Raises: UnknownPointer if nothing names a provider; UnknownServer; Unsupported for what the provider cannot
    take; OverBudget; UnknownFormat, InvalidArgument; CorruptTurn.
    """
    from headish.providers.preparing import prepare_request  # late: most processes make no request

    own = read_params(params)
    limit = TokenLimit(budget, count, model, own.get("max_tokens") or settings.get("max_tokens"))
    provider, asked = _ask(space, headish, to, ptr, limit, tools)
    pointer = asked.pointer
    if ptr is None and to is None and asked.ptr == model:
        model = None  # it named the pointer
    prepared = prepare_request(
        provider,
        _with_params(_in_container(asked, provider), own),
        tools=[*asked.tools, *(tools or ())],
        model=model or (pointer.model if pointer else None),
        dialect=_dialect_of(provider, pointer, base_url, dialect),
        **settings,
    )
    prepared = _continue_stored(space, asked, prepared, own, base_url, budget)
    return replace(
        prepared,
        turns=asked.pinned.turns,
        bookmark=asked.pinned.bookmark,
        options=asked.origins,
        ptr=asked.ptr,
        params=own,
        # Kept by name, so that asking again does not guess what was said about the server.
        dialect=dialect if base_url is not None and dialect is not None else prepared.dialect,
        **(pointer.server if pointer else {}),
    )


@door(model=TEXT)
def lint(
    space: Space, headish: Headishes = "@", to: str | None = None, *, ptr: str | None = None,
    tools: ToolList | None = None, budget: Budget = None, count: Count | None = None, base_url: str | None = None,
    dialect: str | None = None, **settings: Any,
) -> list[Finding]:  # fmt: skip
    """List what a request would repair, leave out or refuse; refusals first. Changes nothing.

    With a ``budget``, what it cuts is among the notes, and a window that cannot be cut is a refusal.
    Raises: as ``request``, except Unsupported and OverBudget.
    """
    from headish.providers.preparing import lint

    limit = TokenLimit(budget, count, None, settings.get("max_tokens"))
    refused: list[Finding] = []
    try:
        provider, asked = _ask(space, headish, to, ptr, limit, tools)
    # One refusal must not hide the other findings, so the rest is looked at without a budget.
    except OverBudget as error:
        refused = [Finding("refused", str(error))]
        provider, asked = _ask(space, headish, to, ptr, TokenLimit(), tools)
    spoken = _dialect_of(provider, asked.pointer, base_url, dialect)
    findings = lint(provider, asked.window, [*asked.tools, *(tools or ())], dialect=spoken, **settings)
    stored = _stored(space, asked, provider, {}, base_url, budget)
    return refused + findings + ([] if stored is None else [Finding("note", **_told_stored(stored).to_dict())])


def _continue_stored(
    space: Space, asked: RequestParts, prepared: Request, own: Mapping[str, Any], base_url: str | None, budget: Budget
) -> Request:
    """Make the request continue the answer that the server stores, if the thread asks for that and it is possible."""
    stored = _stored(space, asked, prepared.provider, own, base_url, budget)
    if stored is None:
        return prepared
    if isinstance(stored, str):
        return replace(prepared, notes=(*prepared.notes, _told_stored(stored)))
    from headish.providers.openai_responses.particulars import continue_stored

    return continue_stored(prepared, stored.response_id, stored.turn, stored.seen)


def _told_stored(stored: StoredResponse | str) -> Note:
    from headish.providers.openai_responses.particulars import told

    return Note(f"the whole window is sent: {stored}") if isinstance(stored, str) else told(stored.turn)


def _stored(
    space: Space, asked: RequestParts, provider: str, own: Mapping[str, Any], base_url: str | None, budget: Budget
) -> StoredResponse | str | None:
    """The stored answer that a request continues, or the reason why there is none; None if ``continue_stored`` is not
    set."""
    if provider != RESPONSES:
        return None
    thread_params = asked.window.options.get("params")
    params = merge(thread_params if isinstance(thread_params, Mapping) else {}, own)
    # ``params.openai_responses`` is for this provider alone, and overrides the general ``params``.
    provider_params = params.get(RESPONSES)
    wish = {**params, **(provider_params if isinstance(provider_params, Mapping) else {})}.get("continue_stored")
    if wish is not None and not isinstance(wish, bool):
        raise InvalidArgument(f"params.continue_stored is true or false, not {shown(wish)}")
    if not wish:
        return None
    if budget is not None:
        return "a budget holds for what is sent, and not for what the server keeps"
    stored = space._read_by(find_stored, asked.pinned.turns)
    if isinstance(stored, StoredResponse) and not _is_its_server(stored.reply, asked, base_url):
        return "the stored answer is kept by another server"
    return stored


def _is_its_server(reply: Mapping[str, Any], asked: RequestParts, base_url: str | None) -> bool:
    """Whether an answer came from the server that is asked now."""
    if "ptr" in reply:
        return base_url is None and reply["ptr"] == asked.ptr
    pointer = asked.pointer
    server_url = base_url or (pointer.base_url if pointer else None)
    return bool(reply.get("base_url") == server_url and (pointer is None or pointer.cloud is None))


def _dialect_of(provider: str, pointer: Pointer | None, base_url: str | None, named: str | None) -> str | None:
    """The dialect of a call. A pointer's own dialect does not apply to a server other than the pointer's."""
    if named is not None:
        check_dialect(provider, named)
    if named is None and pointer is not None and (base_url is None or base_url.rstrip("/") == pointer.base_url):
        return pointer.known_dialect
    return known_dialect(provider, base_url, named)


class TokenLimit(NamedTuple):
    """A budget as it was given, and how its tokens are counted."""

    budget: Budget = None
    counter: Count | None = None
    model: str | None = None
    max_tokens: object = None


def _ask(
    space: Space, headish: Headishes, to: str | None, ptr: str | None, limit: TokenLimit, tools: ToolList | None
) -> tuple[str, RequestParts]:
    if to is not None:
        check_provider(to)
    ptr_name = None if ptr is None else check_name(ptr, "provider pointer")
    listed = parse_headishes(headish)
    if not listed:
        raise InvalidArgument("a request needs a headish")
    first = listed[0].bookmark
    asked, walked, fit = space._read_from(
        [each.text for each in listed],
        lambda connection, places: _gather(connection, space._number, places, first, to, ptr_name, limit),
    )
    if limit.budget is not None:
        # Outside of the transaction: ``count`` is the caller's function, and must not hold it open.
        asked = _cut(space, asked, walked, fit, limit, tools)
    if to is None and asked.pointer is None:
        raise UnknownPointer(None)
    return to or (asked.pointer.provider if asked.pointer else ""), asked


def _cut(
    space: Space,
    asked: RequestParts,
    walked: Sequence[Walked],
    fit: Fit | None,
    limit: TokenLimit,
    tools: ToolList | None,
) -> RequestParts:
    """Cut the window of a request to its budget."""
    from headish.history.budgets.counting import cut_window, measure, with_fit

    budget = limit.budget
    if budget == "auto":
        budget = room_for_request(asked.pointer, limit.max_tokens or param_of(asked.window.options, "max_tokens"))
    measured = measure(walked, [*asked.tools, *(tools or ())], limit.counter, fill=lambda _: asked.window.messages)
    assert isinstance(budget, int)
    cut = cut_window(with_fit(measured, fit) if measured.needs_fit else measured, budget)
    messages = fill_documents(space, cut.messages)
    return asked._replace(window=replace(cut, messages=messages, options=asked.window.options))


def _gather(
    connection: Connection,
    space: int,
    places: list[Place],
    name: str | None,
    to: str | None,
    ptr: bytes | None,
    limit: TokenLimit,
) -> tuple[RequestParts, Sequence[Walked], Fit | None]:
    # Before the options are merged: those of strangers must not choose a pointer, servers or tools.
    walked, left_out = acting_walk(connection, space, walk(connection, space, places))
    window = resolve_window(walked)
    # Providers forget spoken answers after a time, and refuse their ids from then on.
    messages = still_heard(with_documents(connection, space, window.messages), time())
    window = replace(window, messages=messages, notes=(*window.notes, *left_out))
    ptr = ptr or choose_pointer(connection, space, window.options, to, limit.model)
    pointer = None if ptr is None else usable_pointer(connection, space, ptr, to)
    if pointer is not None and pointer.params:
        params = merge(pointer.params, window.options.get("params") or {})
        window = replace(window, options={**window.options, "params": params})
    asked = RequestParts(
        window=window,
        pinned=pin_turns(connection, space, places, name),
        origins=option_origins(walked),
        ptr=ptr.decode() if ptr is not None and pointer is not None else None,
        pointer=pointer,
        tools=tools_served(connection, space, window.options.get("servers")),
        container=find_container(walked),
    )
    if limit.budget is None or limit.counter is not None:
        return asked, walked, None
    from headish.history.budgets.counting import read_fit  # late: most requests have no budget

    return asked, walked, read_fit(connection, space, limit.model or (pointer.model if pointer else None))


def usable_pointer(connection: Connection, space: int, ptr: bytes, to: str | None) -> Pointer | None:
    """The pointer, unless ``to`` names another provider: then it does not apply, and need not exist."""
    try:
        pointer = find_pointer(connection, space, ptr)
    except UnknownPointer:
        if to is None:
            raise
        return None
    return pointer if to in (None, pointer.provider) else None


def choose_pointer(
    connection: Connection, space: int, options: Mapping[str, Any], to: str | None, model: str | None
) -> bytes | None:
    """The pointer of a call that names none itself: the one that ``model`` names, else the thread's, else the space's
    default.

    If ``to`` names a provider, ``model`` is one of its models, and no default applies.
    """
    ptr_name = pointer_as_model(connection, space, model) if to is None else None
    ptr_name = ptr_name or pointer_named(options)
    if ptr_name is not None or to is not None:
        return ptr_name
    default = find_default(connection, space)
    return None if default is None else check_name(default, "provider pointer")


def read_params(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Check the parameters for one call, as those of a thread are checked. Raises: InvalidArgument, InvalidContent."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise InvalidArgument(f"params is a mapping of parameters, not {shown(params)}")
    strictjson.encode_mapping(params, "params")
    secret = find_secret(params, "params")
    if secret is not None:
        raise InvalidArgument(f"{secret}: {LOOKS_LIKE_A_KEY}")
    return dict(params)


def _in_container(asked: RequestParts, provider: str) -> ContextWindow:
    """Name the container that has the files of the thread's code, if the request has tools that Anthropic runs."""
    params: Any = asked.window.options.get("params")
    own: Any = params.get("anthropic") if isinstance(params, Mapping) else None
    if provider != "anthropic" or asked.container is None or not (isinstance(own, Mapping) and own.get("tools")):
        return asked.window
    with_container = {"container": asked.container, **own}
    return replace(asked.window, options={**asked.window.options, "params": {**params, "anthropic": with_container}})


def _with_params(window: ContextWindow, params: Mapping[str, Any]) -> ContextWindow:
    if not params:
        return window
    merged = merge(window.options.get("params") or {}, params)
    return replace(window, options={**window.options, "params": merged})
