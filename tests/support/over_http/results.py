"""Results of the API as the values that the store gives: the way back from ``to_dict``."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from headish.content.encoding import read_block
from headish.history.budgets.counting import Tokens
from headish.history.edits.differences import Change, Diff, Piece
from headish.history.edits.edit import Edited
from headish.history.reading.costs import Cost
from headish.history.reading.usage import Count
from headish.history.reading.versions import Siblings, Version
from headish.imports.imported import Imported
from headish.providers.pointers import NamedPointer, Pointer
from headish.providers.shared.values import Finding, Request, Usage
from headish.values.blocks import ContentBlock, Erased, to_mapping
from headish.values.caches import CACHE_TTL
from headish.values.messages import Attributes, ContextWindow, Message, Note, ThreadRecord
from headish.values.results.bookmarks import Bookmark, Move
from headish.values.results.changes import Change as Happened
from headish.values.results.changes import DefinitionChange, ErasureChange, Live, MoveChange, RecordChange, TurnChange
from headish.values.results.conversations import Conversation, Entry, Page, Record
from headish.values.results.erasures import Erasure, Receipt
from headish.values.results.objects import Object
from headish.values.results.reports import Audited, Report, Stats
from headish.values.results.searches import Hit
from headish.values.results.threads import Stretch, Thread, Tree
from headish.values.turns import Meta, Recorded, TreeTurn, Turn

_META = {"role", "type", "content_type", "bookmark", "continues", "cache", "attributes", "inherited", "app"}
_LATER = (TurnChange, MoveChange, RecordChange, DefinitionChange, ErasureChange, Live)


class Reader:
    """Reads the results of one store; ``on_demand`` is what its turns read their content and options with."""

    def __init__(self, on_demand: Any) -> None:
        self.on_demand = on_demand
        self.readers: dict[str, Callable[[Any], Any]] = {
            **dict.fromkeys(TURN_VERBS, self.turn),
            **dict.fromkeys(TURN_LISTS, lambda given: [self.turn(each) for each in given]),
            "turns": lambda given: iter([self.turn(each) for each in given]),
            "blocks": blocks,
            "messages": self.messages,
            "thread": lambda given: Thread(record(each) for each in given),
            "tree": lambda given: Tree(tree_turn(each) for each in given),
            "stretch": lambda given: Stretch(
                tuple(map(tree_turn, given["turns"])), given["start"], given["total"], given["head"]
            ),
            "resolve": window,
            "search": lambda given: [self.hit(each) for each in given],
            "siblings": plainly(Siblings),
            "contents": lambda given: {name: blocks(each) for name, each in given.items()},
            "versions": lambda given: {name: as_kind(each, Version) for name, each in given.items()},
            "diff": self.diff,
            "open_calls": lambda given: list(blocks(given)),
            "tokens": plainly(Tokens),
            "usage": lambda given: list(map(count, given)),
            "cost": lambda given: [as_kind(each, Cost) for each in given],
            "stats": plainly(Stats),
            "verify": plainly(Report),
            "audit": lambda given: iter([as_kind(each, Audited) for each in given]),
            "lint": lambda given: [as_kind(each, Finding) for each in given],
            "request": lambda given: Request(
                given["provider"], given["model"], given["body"], tuple(as_kind(each, Note) for each in given["notes"])
            ),
            "record": self.recorded,
            "edit": lambda given: Edited(self.turn(given["turn"]), *list(given.values())[1:]),
            "erase": plainly(Erasure),
            "import_file": plainly(Imported),
            "bookmarks.list": lambda given: [as_kind(each, Bookmark) for each in given],
            "bookmarks.history": lambda given: [
                Move(each["move"], each["turn"], datetime.fromisoformat(each["time"])) for each in given
            ],
            "bookmarks.set": plainly(Bookmark),
            "bookmarks.rename": plainly(Bookmark),
            "bookmarks.erase": plainly(Erasure),
            "conversations.list": page,
            "conversations.parts": lambda given: list(map(conversation, given)),
            **dict.fromkeys(("conversations.get", "conversations.find", "conversations.set"), conversation),
            "objects.get": stored_object,
            "objects.list": lambda given: list(map(stored_object, given)),
            "pointers.list": lambda given: [as_kind(each, NamedPointer) for each in given],
            "pointers.history": lambda given: [as_kind(each, NamedPointer) for each in given],
            "pointers.get": plainly(Pointer),
            "erasures.list": lambda given: [as_kind(each, Receipt) for each in given],
        }

    def __call__(self, verb: str, given: Any) -> Any:
        return self.readers.get(verb, lambda plain: plain)(given)

    def turn(self, given: Any) -> Turn | None:
        if given is None:
            return None
        return Turn(given["id"], given["hash"], given["digest"], given["seal"], meta(given["meta"]), self.on_demand,
                    given.get("erased"))  # fmt: skip

    def messages(self, given: Any) -> Any:
        if not isinstance(given, list) or not given or not isinstance(given[0], list):
            return given  # in the form of an API, or none
        read = [(self.turn(turn), message(each)) for turn, each in given]
        return [(turn, structs.replace(each, turn=turn and turn.id)) for turn, each in read]

    def hit(self, given: Any) -> Hit:
        rest = {name: given[name] for name in ("field", "snippet", "marks", "score", "names", "heads")}
        lists = {name: tuple(map(tuple, rest[name])) if name == "marks" else tuple(rest[name])
                 for name in ("marks", "names", "heads")}  # fmt: skip
        found = self.turn(given)
        assert found is not None
        return Hit(turn=found, **(rest | lists))

    def recorded(self, given: Any) -> Recorded:
        found = self.turn(given)
        assert found is not None
        return Recorded(found, given["added"], given.get("erased", 0))

    def diff(self, given: Any) -> Diff:
        def change(each: Any) -> Change:
            sides = [None if each[side] is None else self.on_demand.turn(each[side]) for side in ("before", "after")]
            return Change(each["kind"], *sides, tuple(as_kind(piece, Piece) for piece in each["pieces"]))

        return Diff(given["fork"], tuple(map(change, given["changes"])))

    def change(self, kind: str, given: Any) -> Happened:
        if kind == "turn":
            found = self.turn(given["turn"])
            assert found is not None
            return TurnChange(given["cursor"], datetime.fromisoformat(given["time"]), found)
        return as_kind(given, next(each for each in _LATER if each.kind == kind))  # type: ignore[no-any-return]


TURN_VERBS = ("get", "find", "add_turn", "add_document", "hide", "keep", "unhide", "original", "summarize", "replace",
              "compact", "reply", "ask", "retry")  # fmt: skip
TURN_LISTS = ("children", "heads", "log", "add_turns", "bookmarks.undo", "streams.recover")


def as_kind(given: Any, kind: Any) -> Any:
    """Plain data as a struct whose ``to_dict`` names its fields."""
    return msgspec.convert(given, kind, strict=False)


def plainly(kind: Any) -> Callable[[Any], Any]:
    """A reader for a kind of result."""
    return lambda given: None if given is None else as_kind(given, kind)


def block(given: Any) -> ContentBlock:
    if given.get("type") == "erased":
        return as_kind(given, Erased)  # type: ignore[no-any-return]
    return read_block(given)


def blocks(given: Any) -> tuple[ContentBlock, ...]:
    return tuple(map(block, given))


def meta(given: Any) -> Meta:
    known = {name: value for name, value in given.items() if name in _META}
    known["continues"] = tuple(known["continues"])
    known["attributes"] = as_kind(known.get("attributes", {}), Attributes)
    system = {name: value for name, value in given.items() if name not in _META}
    system |= {CACHE_TTL: known["cache"]} if isinstance(known.get("cache"), str) else {}
    return Meta(**known, system=system)


def tree_turn(given: Any) -> TreeTurn:
    known = {name: value for name, value in given.items() if name != "incomplete"}
    known |= {name: tuple(given[name]) for name in ("continues", "children", "bookmarks")}
    known |= {"content": blocks(given["content"]), "attributes": as_kind(given.get("attributes", {}), Attributes)}
    return TreeTurn(**known)


def record(given: Any) -> ThreadRecord:
    return ThreadRecord(**(given | {"content": blocks(given["content"])}))


def window(given: Any) -> ContextWindow:
    return ContextWindow(tuple(map(message, given["messages"])), given["options"])


def message(given: Any) -> Message:
    return Message(**(given | {"content": blocks(given["content"])}))


def count(given: Any) -> Count:
    used = {name: given[name] for name in Usage.__struct_fields__ if given.get(name) is not None}
    return Count(given["key"], given["replies"], given["silent"], as_kind(used, Usage))


def conversation(given: Any) -> Conversation:
    said = as_kind({name: given[name] for name in Record.__struct_fields__}, Record)
    return Conversation(given["name"], given["first"], given["turn"], said, given["revision"])


def page(given: Any) -> Page:
    def entry(each: Any) -> Entry:
        said = {"title": "", "app": {}, **{name: each[name] for name in ("tags", "archived", "pinned", "key")}}
        found = Conversation(each["name"], each["first"], each["turn"], as_kind(said, Record), each["revision"])
        facts = {name: each[name] for name in ("title", "last", "role", "model", "branches", "turns")}
        return Entry(found, time=datetime.fromisoformat(each["time"]), **facts)

    return Page(tuple(map(entry, given["entries"])), given["after"])


def stored_object(given: Any) -> Object:
    time = datetime.fromisoformat(given["time"])
    return Object(given["kind"], given["key"], given["revision"], b64decode(given["data"]), time)


def plain_of(value: Any) -> Any:
    """An argument as JSON says it."""
    if isinstance(value, Struct) and hasattr(value, "to_dict"):
        return value.to_dict()
    return to_mapping(value) if isinstance(value, Struct) else value
