"""Count the tokens of a thread, and the room that a request has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidName, UnknownPointer
from headish.history.definitions import find_pointer, known_tools, pointer_named
from headish.history.reading.documents import refer, with_documents
from headish.history.reading.options import param_of, resolve_options
from headish.history.reading.walk import walk
from headish.store.space import Headishes, Space
from headish.values.checks.doors import door
from headish.values.messages import Message
from headish.values.names import check_name
from headish.values.places import Place

if TYPE_CHECKING:
    from headish.history.budgets.counting import Measured, Tokens
    from headish.providers.pointers import Pointer

ToolList = Sequence[Mapping[str, Any]]
Budget = int | Literal["auto"] | None
"""How many tokens a window may have: ``auto`` is what its pointer's context window leaves."""
Count = Callable[[str], int]
"""Counts the tokens of a text."""


@door()
def tokens(
    space: Space,
    headish: Headishes = "@",
    *,
    count: Count | None = None,
    model: str | None = None,
    ptr: str | None = None,
    tools: ToolList | None = None,
) -> Tokens:
    """Count the tokens of a request for a headish: its messages as a model sees them, and the tools of the thread.

    ``count`` counts the tokens of a text (``tiktoken``'s, say). Without it they are guessed by bytes and kind of text,
    and corrected by what providers counted: by the usage of the thread's own replies, else of the newest replies of the
    space for ``model``. The result says which, and how far it may be off. ``model`` and the context window are those of
    the pointer ``ptr``, else of the thread's.
    Cost: that of resolving, and a statement or two.
    Raises: InvalidArgument where ``count`` gives no number; UnknownPointer; CorruptTurn.
    """
    from headish.history.budgets.counting import tell

    measured, pointer = measure_thread(space, headish, count=count, model=model, ptr=ptr, tools=tools)
    return tell(measured, model or _model_of(measured, pointer), pointer.context_window if pointer else None)


def measure_thread(
    space: Space,
    headish: Headishes,
    *,
    count: Count | None = None,
    model: str | None = None,
    ptr: str | None = None,
    tools: ToolList | None = None,
) -> tuple[Measured, Pointer | None]:
    """Measure the window of a headish; return it with the pointer that it asks. ``count`` is called outside of the
    transaction. Raises: as ``tokens``."""
    from headish.history.budgets.counting import measure, read_fit, with_fit

    ptr_name = None if ptr is None else check_name(ptr, "provider pointer")

    def work(connection: Connection, places: list[Place]) -> Any:
        walked = walk(connection, space._number, places)
        options = resolve_options(walked)
        pointer = _pointer(connection, space, ptr_name, options)
        served = known_tools(connection, space._number, options.get("servers"))
        asked_model = model or (pointer.model if pointer else None)
        return walked, pointer, served, None if count is not None else read_fit(connection, space._number, asked_model)

    walked, pointer, served, fit = space._read_from(headish, work)
    measured = measure(walked, [*served, *(tools or ())], count, fill=partial(fill_documents, space))
    return (with_fit(measured, fit) if measured.needs_fit else measured), pointer


def fill_documents(space: Space, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Fill in the documents that messages refer to, read in a transaction of its own if there are any."""
    if not refer(messages):
        return tuple(messages)
    return space._read_by(with_documents, messages)


def room_for_request(pointer: Pointer | None, max_tokens: object = None) -> int:
    """How many tokens the context window of a pointer leaves for a request: nine tenths of what the answer leaves,
    because counts may be off. Raises: InvalidArgument if the size of the window is unknown.
    """
    window = None if pointer is None else pointer.context_window
    if window is None:
        raise InvalidArgument("budget='auto' needs a pointer with a context_window: headish ptr set --context-window")
    # An answer without a limit, or with an impossible one, gets a tenth of the window.
    answer = max_tokens if type(max_tokens) is int and 0 < max_tokens < window else window // 10
    return max(1, (window - answer) * 9 // 10)


def _pointer(connection: Connection, space: Space, named: bytes | None, options: Mapping[str, Any]) -> Pointer | None:
    """The pointer that was named, which must exist, or that of the thread, which need not; then None."""
    if named is not None:
        return find_pointer(connection, space._number, named)
    try:
        own = pointer_named(options)
        return None if own is None else find_pointer(connection, space._number, own)
    except (UnknownPointer, InvalidName):
        return None


def _model_of(measured: Measured, pointer: Pointer | None) -> str | None:
    model = param_of(measured.window.options, "model")
    if isinstance(model, str):
        return model
    return pointer.model if pointer else None
