"""Open Assistant trees: JSON lines, one tree per line; ``prompt`` is the root message, ``replies`` are its children.

Every message becomes a turn, every list of replies a fork; ``prompter`` is the user. What a message says beside its
text and role (ids, ranks, model names, labels …) is kept whole in ``meta.app.oasst``; the tree's own keys are kept with
the root's. ``created_date`` is also when the message was said, and ``message_id``, which is globally unique, is its
key: ``oasst:ID``.

The data sets name a tree by a UUID, which nobody reads. Such a tree is a conversation: its title is the prompt's first
line, and its name is at the end of the branch of the best-ranked replies. An id of another kind was chosen by somebody:
it becomes the name, and is on the root.

Source: the export format of the OpenAssistant Conversations dataset (oasst1, oasst2), its README, ``ready`` trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from headish.content import strictjson
from headish.content.drafts import Draft, make_draft
from headish.content.facts import plausible_time
from headish.errors import HeadishError
from headish.imports.building import about_of
from headish.imports.imported import ImportedTree, make_key
from headish.imports.reader import ImportSource, SourceConversation
from headish.imports.readers.shared import make
from headish.imports.source_files import LONG_LINE, read_lines
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish.values.names import refusal

FORMAT = "oasst"
ROLES = {"prompter": "user", "assistant": "assistant", "system": "system"}
_OWN = ("text", "role", "replies", "parent_id")
"""Keys that need not be kept in meta: the turns and their links say the same."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def read_conversations(given: ImportSource) -> Iterator[ImportedTree]:
    """Yield the trees of a file, one at a time; blank lines are skipped.

    A line that is not a tree, or is too long for memory, is noted as broken, and nothing of it is stored.
    """
    for number, line in enumerate(read_lines(given.file, given.name, given.progress), 1):
        if line is None:
            given.notes.break_off(f"line {number}", LONG_LINE)
        elif line.strip():
            try:
                tree = _read_tree(strictjson.decode(line, "the line"))
            except (_Malformed, HeadishError) as error:
                given.notes.break_off(f"line {number}", str(error))
                continue
            yield tree


class _Malformed(Exception):
    pass


def _read_tree(record: Any) -> ImportedTree:
    if not isinstance(record, dict) or not isinstance(record.get("prompt"), dict):
        raise _Malformed("a tree is an object whose `prompt` is its root message")
    name = record.get("message_tree_id")
    reason = "it is missing" if not isinstance(name, str) else refusal(name)
    if reason is not None:
        raise _Malformed(f"its message_tree_id cannot be a bookmark: {reason}")
    tree = {key: value for key, value in record.items() if key != "prompt"}
    drafts: list[Draft] = []
    parents: list[int | None] = []
    untimed = best = 0
    # A stack, because a tree may be nested deeper than Python recurses.
    stack: list[tuple[Any, int | None, bool]] = [(record["prompt"], None, True)]
    while stack:
        message, parent, is_best = stack.pop()
        replies = _replies(message)
        first = _best_ranked(replies)
        behind = [(reply, len(drafts), is_best and at == first) for at, reply in enumerate(replies)]
        # Reversed, because a stack gives the last one first: drafts keep the order of the file.
        stack += reversed(behind)
        best = len(drafts) if is_best else best
        drafts.append(_draft(message, tree if parent is None else None))
        parents.append(parent)
        untimed += drafts[-1].facts.said_at is None and message.get("created_date") is not None
    turns, links = tuple(drafts), tuple(parents)
    if _UUID.fullmatch(str(name)) is None:
        return ImportedTree(turns, links, name, untimed=untimed)
    title = make.title(record["prompt"]["text"])
    about = about_of(SourceConversation(format=FORMAT, id=name, title=title))
    return ImportedTree(turns, links, named=best, untimed=untimed, about=about)


def _best_ranked(replies: Sequence[Any]) -> int:
    """Return the index of the reply with the lowest rank; the first of several, or of replies without ranks."""
    ranks = [reply.get("rank") if isinstance(reply, dict) else None for reply in replies]
    sortable = [float("inf") if type(rank) is not int else rank for rank in ranks]
    return sortable.index(min(sortable)) if sortable else 0


def _replies(message: Any) -> list[Any]:
    replies = message.get("replies") if isinstance(message, dict) else None
    if not isinstance(replies, list | None):
        raise _Malformed("`replies` must be a list of messages")
    return replies or []


def _draft(message: Any, tree: dict[str, Any] | None) -> Draft:
    if not isinstance(message, dict) or not isinstance(message.get("text"), str):
        raise _Malformed("a message is an object with a `text`")
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise _Malformed(f"unknown role {role!r}: expected {', '.join(ROLES)}")
    kept = {key: value for key, value in message.items() if key not in _OWN}
    options = {
        "role": ROLES[role],
        "meta": {"oasst": kept if tree is None else {**tree, **kept}},
        "said_at": plausible_time(message.get("created_date")),
        "key": make_key(FORMAT, message.get("message_id")),
    }
    return make_draft(message["text"], options, PAYLOAD_LIMIT_BYTES)
