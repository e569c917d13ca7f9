"""``ask_title``: a provider suggests a title for a conversation. Nothing is stored."""

from __future__ import annotations

from typing import Any

from headish.content.excerpts import one_line
from headish.errors import InvalidReply
from headish.history.definitions import find_pointer
from headish.providers.pointers import Pointer
from headish.store.reading.threads import messages
from headish.store.space import Space
from headish.values.blocks import Text, join_texts
from headish.values.checks.doors import TEXT, door
from headish.values.messages import ContextWindow, Message
from headish.values.names import check_name

TURNS_SHOWN, CHARACTERS_SHOWN = 6, 500
"""The provider sees this many turns of the thread, this many characters of the text of each, and nothing else of it."""
TITLE_CHARACTERS = 80
ASKED = (
    "Give the conversation below a title of at most eight words, in its own language. "
    "Answer with the title alone, without quotes.\n\n"
)


@door(ptr=TEXT)
def ask_title(space: Space, headish: str = "@", *, ptr: str) -> str:
    """Ask the model of a provider pointer for a title of a conversation; ``conversations.set(…, title=)`` sets it.

    The model gets the texts of the last turns that lead to the headish, shortened; never reasoning, calls or results.
    Raises: UnknownTurn, UnknownPointer; CallError; InvalidReply for an answer without a text.
    """
    name = check_name(ptr, "provider pointer")
    pointer = space._read_by(find_pointer, name)
    recent = [message for _, message in messages(space, headish, limit=TURNS_SHOWN)]
    excerpt = "\n\n".join(f"{each.role}: {each.text[:CHARACTERS_SHOWN]}" for each in recent if each.text)
    question = Message(role="user", content=(Text(ASKED + excerpt),))
    options: dict[str, Any] = {"params": dict(pointer.params)} if pointer.params else {}
    # In case the model quotes the title, or adds line breaks, all the same.
    title = _call(pointer, ContextWindow((question,), options)).strip().strip("\"'“”«»").strip()
    if not title:
        raise InvalidReply(f"the answer of {pointer.provider}", "it suggests no title", 1)
    return one_line(title)[:TITLE_CHARACTERS]


def _call(pointer: Pointer, window: ContextWindow) -> str:
    """Call the provider, and return the text of its answer."""
    from headish.calls import Timeouts, open_call  # late: it brings the client
    from headish.providers.preparing import prepare_request
    from headish.providers.stream import Stream

    dialect = pointer.known_dialect
    request = prepare_request(pointer.provider, window, model=pointer.model, stream=False, dialect=dialect)
    stream = Stream(pointer.provider, model=pointer.model, dialect=dialect)
    options = {**pointer.server, "timeouts": Timeouts.of(None, pointer.timeouts)}
    with open_call(pointer.provider, request.body, model=pointer.model, stream=False, **options) as call:
        for event in call:
            stream.feed(event)
    return join_texts(stream.finish().content)
