"""``store.export``: a thread as a transcript, for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidName, UnknownFormat, UnknownPointer, Unmappable
from headish.history.definitions import find_pointer, known_tools, pointer_named, tools_served
from headish.history.reading.decode import read_all_blocks
from headish.history.reading.documents import with_documents
from headish.history.reading.options import param_of, resolve_options
from headish.history.reading.walk import walk
from headish.history.windows.resolve import is_overlaid
from headish.history.windows.transcripts import kept_thread
from headish.rows.threads.walks import Walked
from headish.store.space import Headishes, Space
from headish.values.blocks import Document
from headish.values.checks.doors import TEXT, door
from headish.values.ids import TurnId
from headish.values.messages import Note
from headish.values.places import Place
from headish.values.results.threads import TranscriptMessage

if TYPE_CHECKING:
    from headish.content.forms.parts import Form
    from headish.transcripts.threads import Ending

Definition = Mapping[str, Any]
NO_ANSWER = "a thread without an answer that a trainer may see"


@door(bos=TEXT, eos=TEXT)
def export(
    space: Space,
    headish: Headishes = "@",
    format: str = "2.2",
    *,
    drop: Collection[str] = (),
    as_user: bool = False,
    for_completion: bool = False,
    for_training: bool = False,
    with_reasoning: bool = False,
    policy: str = "ocm",
    tight: bool = False,
    raw: bool = False,
    told: Callable[[Note], None] | None = None,
    **spelling: Any,
) -> str:
    """The thread that leads to a headish as a transcript (``v0.1``, ``2.0``, ``2.2``, ``harmony``, ``rwkv``).

    Other formats are the messages of an API, in JSON text (``chat``, ``responses``, ``anthropic``, ``gemini``,
    ``cohere``; what was recorded in that form comes back equal), or a row of a data set, one line of JSON
    (``openai-finetune``, ``hf``, ``sharegpt``). A message that was imported from the same format comes back byte for
    byte, if its text was canonical; any other is converted. A header has the version, the model (of ``params``, else of
    the thread's pointer), settings and tools of the thread, if the format has a place for them.

    - ``drop``: what may be lost, by name; anything else is refused. ``as_user``: only what an end user may see.
    - ``for_completion``: without the reasoning of finished turns, as ``policy`` drops it (``ocm`` or ``harmony``), and
      with the open header of the next answer. ``for_training``: a final answer at the end ends in ``<|return|>``. JSON
      then holds only what a trainer may see: nothing hidden, erased, cut off or of a provider's own, no keys, reasoning
      only ``with_reasoning``; it ends with an answer. ``told`` gets a ``Note`` for each thing left out.
    - ``tight``: in OpenChatML 0.1, no line break before ``<|im_end|>`` where headish writes a message. ``spelling``:
      ``bos`` and ``eos``, the base model's tokens; ``strict=False`` also writes what only a relaxed import read.
    - ``raw``: every turn as it was stored. Else a thread with overlays is written as a model sees it, a summary as a
      message of the user's, and with ``as_user`` as people see it.

    Raises: Unrepresentable and its kinds, with all the words for ``drop`` that are needed; UnknownFormat,
    InvalidArgument; UnknownServer for a completion whose tools are unknown; CorruptTurn.
    """
    # Late: it brings every format, and most processes write none.
    from headish.content.forms.table import FORMS
    from headish.transcripts.datasets.rows import ROWS
    from headish.transcripts.threads import APIS, TARGETS, Ending, for_people, write_thread

    if format not in TARGETS and format not in FORMS and format not in ROWS:
        raise UnknownFormat(format, tuple(dict.fromkeys((*TARGETS, *FORMS, *ROWS))))
    trains = for_training and (format in FORMS or format in ROWS)
    if with_reasoning and not trains:
        raise InvalidArgument("with_reasoning is for JSON with for_training: elsewhere reasoning stays, or is dropped")
    if trains and (raw or for_completion or tight):
        raise InvalidArgument("for_training is what a trainer may see: not raw, no prompt, and no layout")
    ending = Ending(completes=for_completion, policy=policy, trains=for_training, tight=tight)

    training = _Training(with_reasoning, told)

    def work(
        connection: Connection, places: list[Place]
    ) -> tuple[list[TranscriptMessage], dict[str, Any], list[Definition]]:
        walked = walk(connection, space._number, places)
        if trains:
            training.look(walked)
        options = _with_model(connection, space, resolve_options(walked))
        thread = kept_thread(walked, raw=raw, for_people=as_user)
        filled = with_documents(connection, space._number, [entry.message for entry in thread])
        thread = [entry._replace(message=message) for entry, message in zip(thread, filled, strict=True)]
        # A prompt must name all tools of the thread's servers; a transcript names those that are known.
        find_tools = tools_served if for_completion else known_tools
        return thread, options, find_tools(connection, space._number, options.get("servers"))

    thread, options, tools = space._read_from(headish, work)
    if as_user:
        # Options and tools are not for end users.
        thread, options, tools = [TranscriptMessage(message, {}) for message in for_people(thread)], {}, []
    if trains:
        thread = training.clean(thread, format)
    if format in ROWS:
        return _write_row(thread, format, drop, ending, tools)
    if trains:
        return _write_form(thread, FORMS[format], drop, Ending())
    # Only the forms have a place for documents, and only the strict interchange writes prompts.
    keeps_documents = not (for_completion or tight or "document" in drop)
    if format in FORMS and _is_written_by_forms(thread, format, APIS, keeps_documents):
        return _write_form(thread, FORMS[format], drop, ending)
    return write_thread(thread, format, drop=drop, ending=ending, options=options, tools=tools, **spelling)


class _Training:
    """Removes from a thread what a trainer must not see, and reports it."""

    def __init__(self, reasoning: bool, told: Callable[[Note], None] | None) -> None:
        self._reasoning, self._told = reasoning, told
        self._hidden: set[TurnId] = set()
        self._notes: list[Note] = []

    def look(self, walked: Sequence[Walked]) -> None:
        """Find out what is hidden. The transaction may run again, so this replaces what an earlier run found."""
        if is_overlaid(walked):
            from headish.history.windows.transcripts import see_hidden  # late: few threads need it

            self._hidden, self._notes = see_hidden(walked, read_all_blocks(walked))

    def clean(self, thread: Sequence[TranscriptMessage], format: str) -> list[TranscriptMessage]:
        """Remove from a thread what a trainer must not see. Raises: Unmappable if no answer is left."""
        from headish.content.forms.table import FORMS
        from headish.transcripts.datasets.trainers import CHAT_PROVIDER, clean_thread

        provider = FORMS[format].provider if format in FORMS else CHAT_PROVIDER
        cleaned, notes = clean_thread(thread, self._hidden, provider, reasoning=self._reasoning)
        if self._told is not None:
            for note in (*self._notes, *notes):
                self._told(note)
        if not cleaned:
            raise Unmappable(format, NO_ANSWER)
        return cleaned


def _write_row(
    thread: Sequence[TranscriptMessage], format: str, drop: Collection[str], ending: Ending, tools: Sequence[Definition]
) -> str:
    """Write a thread as a row of a data set, one line. Raises: Unmappable, InvalidArgument."""
    from headish.transcripts.datasets.rows import as_line, write_row
    from headish.transcripts.drops import drop_words, name_all

    if ending.completes or ending.tight:
        raise InvalidArgument(f"{format} is a row of a data set: no prompt, and no layout")
    # Refuses an unknown word even if nothing has to be dropped.
    drop_words(drop)
    return as_line(name_all(lambda words: write_row(thread, format, words, tools), drop))


def _is_written_by_forms(
    thread: Sequence[TranscriptMessage], format: str, strict: Collection[str], keeps_documents: bool
) -> bool:
    """Whether the forms write this format: no strict interchange does, a turn was recorded in some form, or a
    document, such as a picture, is to be kept."""
    from headish.content.forms.writing import is_form

    if format not in strict or any(is_form(entry.system) for entry in thread):
        return True
    return keeps_documents and any(isinstance(block, Document) for entry in thread for block in entry.message.content)


def _write_form(thread: Sequence[TranscriptMessage], form: Form, drop: Collection[str], ending: Ending) -> str:
    """Write the part of a request's body that has the thread, as JSON text. Raises: Unmappable, InvalidArgument."""
    from headish.content.forms.writing import body_of, write_thread
    from headish.transcripts.drops import drop_words

    if ending.completes or ending.trains or ending.tight:
        raise InvalidArgument(f"{form.name} is a list of messages: no prompt, no text to train with, and no layout")
    entries = _with_ids(form, thread) if form.name != "gemini" else thread  # Gemini refuses ids that it did not make
    body = body_of(form, write_thread(form, entries, drop_words(drop)))
    return json.dumps(body, ensure_ascii=False, indent=2) + "\n"


def _with_ids(form: Form, thread: Sequence[TranscriptMessage]) -> list[TranscriptMessage]:
    """Give ids to calls without one, except those of this form's own messages: no other API takes a call without an id.
    The next request makes the same ids."""
    from headish.content.forms.writing import is_own
    from headish.providers.shared.ledger import with_ids

    own = [index for index, entry in enumerate(thread) if is_own(form, entry)]
    messages = with_ids([entry.message for entry in thread], own)
    return [entry._replace(message=message) for entry, message in zip(thread, messages, strict=True)]


def _with_model(connection: Connection, space: Space, options: Mapping[str, Any]) -> dict[str, Any]:
    """Add the model of the thread's pointer to options whose ``params`` name none."""
    model, params = model_of(connection, space, options), options.get("params")
    if model is None or not isinstance(params or {}, Mapping):
        return dict(options)
    return {**options, "params": {**(params or {}), "model": model}}


def model_of(connection: Connection, space: Space, options: Mapping[str, Any]) -> str | None:
    """The model that a thread asks: what its ``params`` name, else that of its pointer, if there is one."""
    model = param_of(options, "model")
    if model is not None:
        return model if isinstance(model, str) else None
    try:
        ptr = pointer_named(options)
        return None if ptr is None else find_pointer(connection, space._number, ptr).model
    except (UnknownPointer, InvalidName):
        return None  # an imported thread may name a pointer that is not here
