"""Build a thread as a model sees it: the messages of its turns after overlays.

Invariants: a call and its result are seen together, and the call decides; a new turn does not change what was seen
before it, unless it is an overlay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from headish.content.forms.parts import without_form
from headish.history.reading.decode import read_messages
from headish.history.windows.states import State, describe, facing, read_states
from headish.providers.shared.ledger import pair_calls
from headish.rows.threads.walks import Walked
from headish.values.blocks import ContentBlock
from headish.values.ids import TurnId
from headish.values.messages import NO_ATTRIBUTES, Message, Note, Overlay

Contents = Sequence[tuple[ContentBlock, ...]]


class SeenMessage(NamedTuple):
    """A message that is seen. ``at`` is the index of its turn in the walk (of a summary, the first turn that it
    covers). ``by`` is the overlay that its words come from. ``covers`` is the number of turns that a summary covers; 0
    for every other message.
    """

    message: Message
    at: int
    by: TurnId | None = None
    covers: int = 0
    kept: bool = False


class View(NamedTuple):
    """The messages that a model sees, and a note for each overlay that changes them and each turn that was stored
    hidden, in walk order."""

    seen: list[SeenMessage]
    notes: list[Note]


class SeenThread(NamedTuple):
    """A walk, its messages, and how each turn is seen (None for an overlay). ``overlays`` has the index of each."""

    walked: Sequence[Walked]
    messages: list[Message]
    states: list[State | None]
    overlays: dict[TurnId, tuple[int, Overlay]]


def read_thread(walked: Sequence[Walked], contents: Contents) -> SeenThread:
    """Find out how each turn of a walk is seen at its end. Raises: CorruptTurn."""
    messages = read_messages(walked, contents)
    faces = [
        facing(turn.id, turn.digest.hex(), turn.type, message.attributes)
        for turn, message in zip(walked, messages, strict=True)
    ]
    states = read_states(faces)
    overlays = {face.id: (index, face.overlay) for index, face in enumerate(faces) if face.overlay is not None}
    return SeenThread(
        walked, messages, [states[face.digest] if face.overlay is None else None for face in faces], overlays
    )


def see_originals(walked: Sequence[Walked], contents: Contents) -> list[SeenMessage]:
    """Every turn as it was stored; the overlays are left out."""
    thread = read_thread(walked, contents)
    return [
        SeenMessage(message, index)
        for index, message in enumerate(thread.messages)
        if thread.walked[index].id not in thread.overlays
    ]


def see(walked: Sequence[Walked], contents: Contents) -> View:
    """Compute the view that a model has of a walk. Raises: CorruptTurn."""
    thread = read_thread(walked, contents)
    shown = _with_pairs(thread, [_put_in_place(thread, index) for index in range(len(walked))])
    summaries = _first_of_summaries(thread)
    covers = Counter(state.by for state in thread.states if state is not None and state.summarized)
    seen: list[SeenMessage] = []
    for index, (state, message) in enumerate(zip(thread.states, shown, strict=True)):
        if index in summaries:
            seen.append(_as_summary(thread, index, summaries[index], covers[summaries[index]]))
        elif state is not None and message is not None:
            seen.append(SeenMessage(_unhidden(message), index, state.by, kept=state.kept))
    return View(seen, _notes(thread))


def _put_in_place(thread: SeenThread, index: int) -> Message | None:
    """The message of a turn with its present words; None for an overlay, and for a turn that a summary replaces."""
    state = thread.states[index]
    if state is None or state.summarized:
        return None
    return replaced(thread, index)


def replaced(thread: SeenThread, index: int) -> Message:
    """The message of a turn, with the words of the overlay that replaces it, if there is one."""
    state = thread.states[index]
    if state is None or state.by is None or state.summarized:
        return thread.messages[index]
    at, _ = thread.overlays[state.by]
    return replace(thread.messages[index], content=thread.messages[at].content, turn=state.by)


def _with_pairs(thread: SeenThread, placed: Sequence[Message | None]) -> list[Message | None]:
    """The visible part of each message: a result is visible exactly if its call is, however its own turn is seen."""
    visible = [
        message is not None and state is not None and not state.model
        for message, state in zip(placed, thread.states, strict=True)
    ]
    # A summary covers whole pairs, but a result may be added after it: its call is found among the stored messages.
    messages = [
        _NOTHING if state is None else message or thread.messages[index]
        for index, (message, state) in enumerate(zip(placed, thread.states, strict=True))
    ]
    results: dict[int, dict[int, bool]] = {}
    for (index, position), (call, _) in pair_calls(messages).items():
        results.setdefault(index, {})[position] = visible[call]
    return [
        None if message is None else _shown_part(message, visible[index], results.get(index, {}))
        for index, message in enumerate(placed)
    ]


def _shown_part(message: Message, is_visible: bool, results: Mapping[int, bool]) -> Message | None:
    """A message with its visible results; None if nothing of it is visible."""
    if all(is_shown == is_visible for is_shown in results.values()):
        return message if is_visible else None
    content = without_form(block for at, block in enumerate(message.content) if results.get(at, is_visible))
    return replace(message, content=content) if content else None


def _first_of_summaries(thread: SeenThread) -> dict[int, TurnId]:
    """The place of each summary: the index of the first turn that it still covers. A summary is left out if all its
    turns were hidden later."""
    first: dict[TurnId, int] = {}
    visible: set[TurnId] = set()
    for index, state in enumerate(thread.states):
        if state is not None and state.summarized and state.by is not None:
            first.setdefault(state.by, index)
            visible |= set() if state.model else {state.by}
    return {index: overlay for overlay, index in first.items() if overlay in visible}


def _as_summary(thread: SeenThread, index: int, overlay: TurnId, covers: int) -> SeenMessage:
    """Make a summary a user message: a model wrote it about text that may be hostile, so it must not have the authority
    of a system message."""
    at, _ = thread.overlays[overlay]
    message = Message(role="user", content=thread.messages[at].content, turn=overlay)
    return SeenMessage(message, index, overlay, covers=covers, kept=True)


def _notes(thread: SeenThread) -> list[Note]:
    """A note for each overlay that has an effect, and one for each turn that is stored hidden."""
    states = [state for state in thread.states if state is not None]
    effective = Counter(state.hider if state.model else state.by for state in states)
    notes: list[Note] = []
    for turn, state in zip(thread.walked, thread.states, strict=True):
        if state is not None and state.model and state.hider is None:
            notes.append(Note("the turn is stored hidden, and left out", turn.id))
        if effective[turn.id]:
            _, overlay = thread.overlays[turn.id]
            notes.append(Note(f"overlay: {describe(overlay, effective[turn.id])}", turn.id))
    return notes


def _unhidden(message: Message) -> Message:
    """Remove the attribute that hides a message from others: the reader who sees the message does not need it."""
    if message.attributes.hidden is None:
        return message
    attributes = replace(message.attributes, hidden=None)
    return replace(message, attributes=NO_ATTRIBUTES if attributes == NO_ATTRIBUTES else attributes)


_NOTHING = Message(role=None, content=())
