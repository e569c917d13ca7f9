"""The entries that a page shows of a thread, in sections, for people.

The thread is the first section. If the page gets branches too, each is a section of its own, linked from the turn where
it leaves. Hidden text is left out here, so no renderer can let it through: not as an attribute, not folded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from headish.transcripts.shared.transcript import arguments_of
from headish.transcripts.views import may_be_seen, visible_text
from headish.values.blocks import (
    ContentBlock,
    Document,
    Erased,
    Mark,
    Other,
    ProviderBlock,
    Text,
    Thinking,
    ToolDefinitions,
    ToolResult,
    ToolUse,
    erased_in,
    join_texts,
)
from headish.values.ids import TurnId
from headish.values.messages import NO_ATTRIBUTES, Face, Message
from headish.values.turns import TreeTurn

BOUNDARY = "boundary"
"""The role of an entry that is not a message but a line about an overlay."""
EDITED = "edited"
"""The note beside the model of a reply whose words somebody changed."""
FIRST_SECTION = "b0"
"""The anchor of the thread's own section."""
INCOMPLETE = "This reply is incomplete."
"""The line below a reply that was cut off."""


class Part(Struct, frozen=True):
    """A piece of an entry. ``kind`` is text, document, thinking, call, result, erased or other; ``title`` says what it
    is."""

    kind: str
    title: str
    body: str


class Branch(Struct, frozen=True):
    """A link to another section."""

    anchor: str
    title: str


class PageMessage(Struct):
    """One message. ``branches`` link to the other turns that continue it; ``model`` is what replied; ``time`` is when
    it was said, in UTC; ``version`` is ``2/3`` for the second of three in its place; ``edited``: somebody changed the
    words of a reply. With the role ``BOUNDARY`` it is a line about what follows, and ``who`` is its text."""

    id: TurnId
    who: str
    role: str
    time: datetime
    parts: tuple[Part, ...]
    bookmarks: tuple[str, ...]
    branches: list[Branch]
    model: str | None = None
    incomplete: bool = False
    version: str = ""
    edited: bool = False


class Section(Struct, frozen=True):
    """A run of messages that continue one another."""

    anchor: str
    title: str
    entries: tuple[PageMessage, ...]


class ThreadPage(Struct, frozen=True):
    """A thread for people. ``head`` is its last turn; ``debug``: hidden text is shown.

    ``model`` is the one that the thread asks; each reply names the one that answered.
    """

    title: str
    head: TurnId
    sections: tuple[Section, ...]
    debug: bool
    model: str | None = None


def make_page(
    thread: Sequence[TurnId],
    tree: Sequence[TreeTurn],
    *,
    title: str | None = None,
    debug: bool = False,
    model: str | None = None,
    faces: Mapping[TurnId, Face] | None = None,
) -> ThreadPage:
    """The page of a thread (ids in walk order). ``tree`` holds its turns, and those of every branch to be shown.

    ``faces`` are the turns that people see differently because of overlays. A debugging view shows hidden ones, too.
    """
    turns = {turn.id: turn for turn in tree}
    builder = _PageBuilder(turns, debug, faces or {})
    sections = builder.build([each for each in thread if each in turns])
    heading = title or find_title(entry for each in sections for entry in each.entries)
    return ThreadPage(heading, thread[-1], tuple(sections), debug, model)


def find_title(entries: Iterable[PageMessage]) -> str:
    """The title of a page that was given none: the user's first words. Reads ``entries`` no further than these."""
    parts = (part for entry in entries if entry.role == "user" for part in entry.parts)
    return _words_of(parts) or "A conversation"


def read_entries(turns: Iterable[TreeTurn], faces: Mapping[TurnId, Face], debug: bool) -> Iterator[PageMessage]:
    """The entries of turns that follow one another, without branches."""
    for turn in turns:
        yield from _entries_of(turn, faces.get(turn.id), debug)


def _entries_of(turn: TreeTurn, face: Face | None, debug: bool) -> Iterator[PageMessage]:
    """The lines above a turn, then its own entry if any part of it is shown."""
    if face is not None:
        yield from (_boundary(turn, words) for words in face.boundaries)
        turn = _as_seen(turn, face, debug)
    parts = tuple(_debug_parts(turn.content) if debug else _visible_parts(turn))
    if parts or _is_empty_answer(turn):
        yield _entry(turn, parts)


def _words_of(parts: Iterable[Part], limit: int = 80) -> str:
    """The first words of the parts; without words, the name of the first document."""
    document = ""
    for part in parts:
        if part.kind == "document":
            document = document or one_line(part.title, limit)
        elif part.kind != "erased":
            return one_line(part.body, limit)
    return document


def one_line(text: str, limit: int = 80) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class _PageBuilder:
    """Builds a section of the thread, then one of each branch that leaves it, then of the branches that leave those."""

    def __init__(self, turns: Mapping[TurnId, TreeTurn], debug: bool, faces: Mapping[TurnId, Face]) -> None:
        self._turns, self._debug, self._faces = turns, debug, faces
        self._placed: set[TurnId] = set()

    def build(self, thread: list[TurnId]) -> list[Section]:
        self._placed |= set(thread)
        waiting: deque[tuple[list[TurnId], PageMessage | None]] = deque([(thread, None)])
        # No turn leads to the other versions of a first turn that continues nothing.
        roots = [each for each in self._turns.values() if each.versions > 1 and not each.continues]
        waiting += [(self._follow(each.id), None) for each in roots if each.id not in self._placed]
        sections: list[Section] = []
        while waiting:
            path, origin = waiting.popleft()
            entries, leaving = self._read(path, origin)
            waiting += leaving
            # A branch with nothing to show gets no link: that would tell that it is there.
            if not entries and sections:
                continue
            anchor = f"b{len(sections)}" if sections else FIRST_SECTION
            title = _words_of((part for entry in entries for part in entry.parts), 60)
            if origin is not None:
                origin.branches.append(Branch(anchor, title))
            sections.append(Section(anchor, title, tuple(entries)))
        return sections

    def _read(
        self, path: list[TurnId], before: PageMessage | None
    ) -> tuple[list[PageMessage], list[tuple[list[TurnId], PageMessage | None]]]:
        """The entries of a path, and the paths that leave it, each with the last entry before it; ``before`` is that of
        the path itself."""
        entries: list[PageMessage] = []
        leaving: list[tuple[list[TurnId], PageMessage | None]] = []
        for turn_id in path:
            turn = self._turns[turn_id]
            entries += _entries_of(turn, self._faces.get(turn_id), self._debug)
            others = [child for child in turn.children if child not in self._placed]
            # A line about an overlay has no place for links.
            origin = next((entry for entry in reversed(entries) if entry.role != BOUNDARY), before)
            leaving += [(self._follow(child), origin) for child in others]
        return entries, leaving

    def _follow(self, turn_id: TurnId) -> list[TurnId]:
        """The path from a turn along each first child, up to a turn that is on another path already."""
        path: list[TurnId] = []
        following: TurnId | None = turn_id
        while following is not None and following not in self._placed:
            # Several branches may lead to a merge. Its id is an anchor, so it is on the page once.
            self._placed.add(following)
            path.append(following)
            following = next(iter(self._turns[following].children), None)
        return path


def _entry(turn: TreeTurn, parts: tuple[Part, ...]) -> PageMessage:
    # Only a bare sequence of OpenChatML 0.1 has no role.
    role, model = turn.role or "sequence", turn.reply.get("model")
    return PageMessage(
        id=turn.id,
        who=turn.attributes.speaker or role.capitalize(),
        role=role,
        time=turn.said_at,
        parts=parts,
        bookmarks=turn.bookmarks,
        branches=[],
        model=model if isinstance(model, str) else None,
        incomplete=turn.is_cut_off,
        version=f"{turn.version}/{turn.versions}" if turn.versions > 1 else "",
        edited=bool(turn.reply.get("edited")),
    )


def _boundary(turn: TreeTurn, words: str) -> PageMessage:
    return PageMessage(id=turn.id, who=words, role=BOUNDARY, time=turn.said_at, parts=(), bookmarks=(), branches=[])


def _as_seen(turn: TreeTurn, face: Face, debug: bool) -> TreeTurn:
    """The turn with the words that people see; without content if it is hidden from them."""
    if face.hidden and not debug:
        return replace(turn, content=(), reply={}, attributes=NO_ATTRIBUTES)
    return turn if face.content is None else replace(turn, content=face.content)


def _is_empty_answer(turn: TreeTurn) -> bool:
    """Whether an answer that people may see was cut off before its first word: the page shows it as incomplete."""
    attributes = turn.attributes
    return (
        turn.is_cut_off and turn.role == "assistant" and may_be_seen(turn.role, attributes.channel, attributes.intent)
    )


def _visible_parts(turn: TreeTurn) -> Iterator[Part]:
    attributes = turn.attributes
    if erased_in(turn.content) is not None:
        # When and why it was erased is said in the open, but not of a turn that was never shown.
        if may_be_seen(turn.role, attributes.channel, attributes.intent):
            yield from _debug_parts(turn.content)
        return
    text = visible_text(Message(role=turn.role, content=turn.content, attributes=turn.attributes))
    if text:
        yield Part("text", "", text)
    if may_be_seen(turn.role, attributes.channel, attributes.intent):
        yield from (_document(block) for block in turn.content if isinstance(block, Document))


def _document(block: Document) -> Part:
    """A document by its name: a page loads nothing, and a picture could be as large as a turn."""
    media_type = block.source.media_type or "of no known type"
    kind = _KINDS.get(media_type.partition("/")[0], "Document")
    return Part("document", f"{kind} {block.name}" if block.name else kind, f"{media_type}, not shown")


_KINDS = {"image": "Picture", "audio": "Recording", "video": "Video"}


def _debug_parts(blocks: Collection[ContentBlock]) -> Iterator[Part]:
    for block in blocks:
        match block:
            case Text(text=text):
                yield Part("text", "", text)
            case Thinking(text=text):
                yield Part("thinking", "Reasoning", text)
            case ToolUse(name=name):
                yield Part("call", f"Call of {name}", arguments_of(block))
            case ToolResult(name=name, content=content, is_error=is_error):
                inner = join_texts(content) or "(no text)"
                title = f"Result of {name}" if name else "Result"
                yield Part("result", f"{title}, failed" if is_error else title, inner)
            case Document():
                yield _document(block)
            case Mark(token=token):
                yield Part("other", "Token", token)
            case ToolDefinitions(raw=raw):
                yield Part("call", "ToolDefinitions", raw)
            case ProviderBlock(provider=provider):
                yield Part("other", f"A block of {provider}'s own", "not shown")
            case Erased():
                yield Part("erased", f"Erased on {block.time:%Y-%m-%d}", block.reason)
            case Other(type=kind):
                yield Part("other", f"A block of type {kind}", "not shown")
