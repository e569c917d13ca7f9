"""Prepare the turns of a thread for a page: its entries, with the facts that the actions on each need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from headish.content.prices import Prices
from headish.history.windows.states import describe
from headish.renderings.html import write_part
from headish.renderings.marking import show_unseen
from headish.renderings.pages import BOUNDARY, PageMessage, Part, read_entries
from headish.serve.pages.money import say_reply_cost
from headish.serve.recorder.clients import PREAMBLES
from headish.values.blocks import (
    ContentBlock,
    Document,
    Erased,
    FileSource,
    MediaSource,
    ToolResult,
    ToolUse,
    UrlSource,
)
from headish.values.ids import TurnId
from headish.values.results.threads import Stretch
from headish.values.turns import INPUT_TOKENS, PREAMBLE, TreeTurn

WINDOW_TURNS = 50
# With its marks and links, a page stays below 300 KB.
PAGE_CHARACTERS = 160_000
"""About how many characters of text a page shows; the rest is cut."""
PART_CHARACTERS, FOLDED_CHARACTERS, LEFT_CHARACTERS = 20_000, 4_000, 1_000
"""The most characters of one text, of a folded one, and of one on a page that is already full."""
CUT = "…"
"""The end of a text that is cut."""
ADDED = "Added by the program"
"""The title of a text that a client puts before the words of a person."""
SHOWN_INLINE = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
"""The types that a browser draws without running anything, with the suffixes of their files."""


class ShownDocument(Struct, frozen=True):
    """A document of a turn: the number of its block, its name and type; ``is_picture`` if the page shows it.
    ``elsewhere`` says where its bytes are if they are not in the database; then the type may be empty."""

    number: int
    name: str
    media_type: str
    is_picture: bool
    elsewhere: str


class Beginnings(Struct, frozen=True):
    """Other conversations that begin with the same system turn, which is stored once: they are not branches of this one
    (rule R33, conversations). ``firsts`` has the first turns and words of some of them, in commit order."""

    count: int
    firsts: tuple[tuple[TurnId, str], ...]


NO_OTHERS: Mapping[TurnId, Beginnings] = MappingProxyType({})


class ShownTurn(Struct, frozen=True):
    """One entry. ``index`` is its place in the thread; an entry that is a boundary has only ``entry.who``.
    ``branches`` counts the branches of this conversation that grow from it, ``others`` are the conversations that begin
    with the same turn. ``folds_as`` titles a turn that is folded: a system prompt, or what an overlay does."""

    id: TurnId
    handle: str
    entry: PageMessage
    index: int
    html: tuple[Markup, ...] = ()
    documents: tuple[ShownDocument, ...] = ()
    usage: str = ""
    cost: str = ""
    is_cut: bool = False
    is_hidden: bool = False
    is_erased: bool = False
    branches: int = 0
    others: Beginnings | None = None
    text: str = ""
    folds_as: str = ""

    @property
    def kind(self) -> str:
        return self.entry.role

    @property
    def is_boundary(self) -> bool:
        return self.entry.role == BOUNDARY


def as_shown(part: Part, limit: int) -> tuple[Markup, bool]:
    """The HTML of a part, with its unseen characters shown; and whether it was cut."""
    is_cut = len(part.body) > limit
    body = part.body[:limit] + CUT if is_cut else part.body
    shown = replace(part, title=show_unseen(part.title), body=show_unseen(body))
    html = show_unseen(write_part(shown))  # again: Markdown writes a character for its number, such as &#x202e;
    return Markup(html), is_cut  # noqa: S704 - write_part escapes


def show_turns(
    stretch: Stretch,
    handles: Mapping[TurnId, str],
    *,
    whole: bool = False,
    prices: Prices | None = None,
    others: Mapping[TurnId, Beginnings] = NO_OTHERS,
) -> list[ShownTurn]:
    """The entries of a stretch, with calls, results and reasoning folded; with ``whole``, nothing is cut. ``others``
    has the other conversations that begin with its turns."""
    turns = {turn.id: (stretch.start + index, turn) for index, turn in enumerate(stretch.turns)}
    shown: list[ShownTurn] = []
    room = PAGE_CHARACTERS
    for entry in read_entries(_with_tools(stretch.turns), stretch.faces, True):
        index, turn = turns[entry.id]
        if entry.role == BOUNDARY:
            shown.append(ShownTurn(entry.id, "", entry, index))
            continue
        drawn = _show(turn, entry, index, handles.get(entry.id, entry.id), None if whole else room)
        face = stretch.faces.get(entry.id)
        cost = say_reply_cost(turn.reply, turn.said_at, prices)
        beside = others.get(entry.id)
        branches = len(turn.children) + turn.more - (beside.count if beside else 0)
        is_hidden = face is not None and face.hidden
        shown.append(replace(drawn, is_hidden=is_hidden, cost=cost, branches=branches, others=beside))
        room -= sum(map(len, drawn.html))
    return shown


def _with_tools(turns: Sequence[TreeTurn]) -> Iterator[TreeTurn]:
    """The turns, with the names of the tools in results that name only a call before them, as most providers' do."""
    names: dict[str | None, str] = {}
    for turn in turns:
        names |= {block.id: block.name for block in turn.content if isinstance(block, ToolUse) and block.id}
        if any(isinstance(block, ToolResult) for block in turn.content):
            turn = replace(turn, content=tuple(_named(block, names) for block in turn.content))
        yield turn


def _named(block: ContentBlock, names: Mapping[str | None, str]) -> ContentBlock:
    if isinstance(block, ToolResult) and block.name is None:
        return replace(block, name=names.get(block.tool_use_id))
    return block


def _show(turn: TreeTurn, entry: PageMessage, index: int, handle: str, left: int | None) -> ShownTurn:
    pieces, is_cut = [], False
    for part in entry.parts:
        if part.kind == "document":
            continue
        if turn.role == "user" and part.kind == "text" and part.body.startswith(PREAMBLES):
            part = Part("other", ADDED, part.body)
        limit = len(part.body) if left is None else _limit(part, left)
        html, cut = as_shown(part, limit)
        pieces.append(html)
        is_cut = is_cut or cut
        left = None if left is None else left - len(html)
    if turn.role == "user" and turn.content and all(isinstance(block, ToolResult) for block in turn.content):
        entry = replace(entry, role="tool", who="Tool")  # some APIs take results from a user, who said none of it
    is_erased = any(isinstance(block, Erased) for block in turn.content)
    overlay = turn.attributes.overlay
    folds_as = "System prompt" if turn.role in PREAMBLE and not is_erased else ""
    if folds_as and overlay is not None:
        folds_as = describe(overlay).capitalize()
    return ShownTurn(
        id=turn.id,
        handle=handle,
        entry=entry if overlay is None else replace(entry, who="Overlay"),
        index=index,
        html=tuple(pieces),
        documents=tuple(_documents(turn)),
        usage=usage_of(turn),
        is_cut=is_cut,
        is_erased=is_erased,
        text=next((part.body[:200] for part in entry.parts if part.kind == "text"), "") if folds_as else "",
        folds_as=folds_as,
    )


def _limit(part: Part, left: int) -> int:
    own = PART_CHARACTERS if part.kind == "text" else FOLDED_CHARACTERS
    return min(own, max(LEFT_CHARACTERS, left))


def _documents(turn: TreeTurn) -> Iterator[ShownDocument]:
    for number, block in enumerate(turn.content):
        if isinstance(block, Document):
            elsewhere = _say_elsewhere(block.source)
            media_type = block.source.media_type or ("" if elsewhere else "application/octet-stream")
            is_picture = not elsewhere and media_type in SHOWN_INLINE
            name = show_unseen(block.name or "document")
            yield ShownDocument(number, name, show_unseen(media_type), is_picture, elsewhere)


def _say_elsewhere(source: MediaSource) -> str:
    if isinstance(source, UrlSource):
        return f"at {source.url}"
    if isinstance(source, FileSource):
        return f"kept by {source.provider or 'its provider'} as {source.file_id}"
    return ""


def usage_of(turn: TreeTurn) -> str:
    """The tokens of an answer, in words; empty if it reported none."""
    usage = turn.reply.get("usage")
    return say_tokens(usage) if isinstance(usage, Mapping) else ""


def say_tokens(usage: Mapping[str, object]) -> str:
    """Token counts in words. The cached tokens are part of those that went in."""
    counts = [
        ("in", sum(_count(usage, key) for key in INPUT_TOKENS)),
        ("of them cached", _count(usage, "cache_read_input_tokens")),
        ("out", _count(usage, "output_tokens")),
    ]
    return ", ".join(f"{count:,} {word}" for word, count in counts if count)


def _count(usage: Mapping[str, object], key: str) -> int:
    count = usage.get(key)
    return count if isinstance(count, int) else 0
