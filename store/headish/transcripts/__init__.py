"""Transcripts: conversations as text in outside formats, read and written through one neutral model.

::

    text ──parse──▶ Transcript ──emit──▶ text          to_json, from_json: the model as JSON
    thread ──write_thread──▶ text                       each message in its own form (threads.py)

Nothing is lost silently: what a format can carry comes back as it was, what it cannot carry is refused by name.
"""

from __future__ import annotations

from collections.abc import Collection

from headish.transcripts.apis.anthropic import from_anthropic, to_anthropic
from headish.transcripts.apis.chat import from_chat, to_chat
from headish.transcripts.apis.responses import from_responses, to_responses
from headish.transcripts.conversion import convert, convert_to_api
from headish.transcripts.detection import detect
from headish.transcripts.drops import give_up, name_all
from headish.transcripts.events import from_events
from headish.transcripts.formats import FORMATS, open_parser, write
from headish.transcripts.interchange.neutral import from_json, to_json
from headish.transcripts.interchange.version20 import from_interchange20, to_interchange20
from headish.transcripts.interchange.version22 import from_interchange, to_interchange
from headish.transcripts.lints import lint
from headish.transcripts.shared.transcript import Transcript
from headish.transcripts.stream import Event, TranscriptStream
from headish.transcripts.views import for_completion, resample, show, visible
from headish.values.checks.doors import an, door

__all__ = [
    "FORMATS",
    "Event",
    "Transcript",
    "TranscriptStream",
    "convert",
    "convert_to_api",
    "detect",
    "emit",
    "for_completion",
    "from_anthropic",
    "from_chat",
    "from_events",
    "from_interchange",
    "from_interchange20",
    "from_json",
    "from_responses",
    "lint",
    "parse",
    "resample",
    "show",
    "to_anthropic",
    "to_chat",
    "to_interchange",
    "to_interchange20",
    "to_json",
    "to_responses",
    "visible",
]


@door()
def parse(
    data: str | bytes,
    format: str | None = None,
    *,
    partial: bool = False,
    strict: bool = True,
    start_role: str | None = None,
    bos: str = "[BOS]",
    eos: str = "[EOS]",
) -> Transcript:
    """A transcript from its text; without a ``format`` it is detected (never ``harmony``).

    ``partial`` takes a text that ends early: its last message has ``stop`` ``none``, or the rest is ``tail``.
    ``strict=False`` keeps a body that breaks its constraint, and an answer without a channel where the header wants
    one. ``start_role``: the text begins inside that role's header, as a completion does. ``bos`` and ``eos`` are
    OpenChatML 0.1's spellings of the base model's tokens. A header's version picks the grammar of a 2.x file.
    Time is linear in the length of the text.
    Raises: InvalidTranscript with a ``code``, line and column; UnknownFormat.
    """
    if format is None:
        format = "2.2" if start_role is not None else detect(data)
    parser = open_parser(format, strict=strict, start_role=start_role, bos=bos, eos=eos)
    parser.feed(data)
    parser.end_input()
    return parser.finish(partial=partial)


@door(transcript=an(Transcript))
def emit(
    transcript: Transcript,
    format: str,
    *,
    drop: Collection[str] = (),
    strict: bool = True,
    bos: str = "[BOS]",
    eos: str = "[EOS]",
) -> str:
    """The text of a transcript, faithfully: what comes back from ``parse`` is the same transcript.

    ``drop`` gives things up by name (``header``, ``call_id``, ``intent``, …). ``strict=False`` also writes what only
    ``parse(strict=False)`` reads: a body that breaks its constraint, an answer without the channel that a header wants.
    Raises: Unrepresentable (E-EMIT-UNREPRESENTABLE) with all the words for ``drop`` that are needed, if words help;
    HeaderValue (E-EMIT-HEADER-VALUE); UnknownFormat; InvalidArgument for an unknown ``drop``.
    """

    def work(words: Collection[str]) -> str:
        given = give_up(transcript, words) if words else transcript
        return write(given, format, strict=strict, bos=bos, eos=eos)

    return name_all(work, drop)
