"""Build the tree of drafts of a conversation from the parent that each message names.

Lists of children are missing or wrong in several formats, so headish ignores them. A node without content (a root, a
progress line) is skipped: its children continue the last message before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headish.content.drafts import Draft
from headish.imports.cleaning import name_from, within_limit, without_secrets
from headish.imports.drafting import draft_node
from headish.imports.imported import ImportedConversation, ImportedTree, Link, make_key
from headish.imports.notes import ImportNotes
from headish.imports.reader import SourceConversation, SourceMessage
from headish.values.limits import TAGS_LIMIT, TITLE_LIMIT


def build_tree(
    talk: SourceConversation, notes: ImportNotes, limit_bytes: int, *, is_sound: bool = False
) -> ImportedTree | None:
    """Build the tree of a conversation, None if nobody says anything in it. ``is_sound`` as in ``draft_node``.

    A message that cannot be kept is noted as broken, and its children continue the message before it.
    """
    listed = list(talk.messages)
    by_id = _by_id(listed)
    parents = [_parents_of(node, by_id) for node in listed]
    built: dict[int, Link] = {}
    drafts: list[Draft] = []
    links: list[Link] = []
    covers: dict[int, tuple[int | bytes, ...]] = {}
    untimed = 0
    for index in _ordered(parents):
        node, above = listed[index], parents[index]
        # A parent that this file lacks may be in another file, where its key finds it.
        before = _joined([built.get(parent) for parent in above]) if above else _key_of(talk, node.parent)
        draft = draft_node(talk.format, node, notes, limit_bytes, is_sound=is_sound)
        built[index] = before if draft is None else len(drafts)
        if draft is not None:
            if node.covers:
                places = (built.get(by_id[each]) if each in by_id else _key_of(talk, each) for each in node.covers)
                covered = tuple(dict.fromkeys(each for each in places if isinstance(each, int | bytes)))
                covers |= {len(drafts): covered} if covered else {}
            drafts.append(draft)
            links.append(before)
            untimed += node.said_at is not None and draft.facts.said_at is None
    if not drafts:
        return None
    named = _tip(talk.tip, by_id, built, drafts, links)
    return ImportedTree(
        tuple(drafts),
        tuple(links),
        named=named,
        untimed=untimed,
        about=about_of(talk),
        logged=talk.logged,
        edits=talk.edits,
        covers=covers,
    )


def about_of(talk: SourceConversation) -> ImportedConversation:
    """Describe a conversation, with the candidates for the name of its tip, the first choice first."""
    title = " ".join((talk.title or "").split())[:TITLE_LIMIT]
    # The id of a part of a conversation, such as a sub-agent, ends with what tells it from the other parts.
    short = (talk.id or "").rpartition(":")[2][:8].strip("-")
    base = name_from(title) or name_from(f"{talk.format}-{short}")
    names = [base, name_from(f"{base}-{short}"), name_from(f"{talk.format}-{talk.id}")] if base else []
    app, _ = without_secrets(talk.app)
    app, _ = within_limit(app)
    tags = tuple(dict.fromkeys(" ".join(tag.split())[:TITLE_LIMIT] for tag in talk.tags if tag.strip()))
    return ImportedConversation(
        key=make_key(talk.format, talk.id),
        format=talk.format,
        title=title,
        names=tuple(dict.fromkeys(name for name in names if name)),
        tags=tags[:TAGS_LIMIT],
        archived=talk.archived,
        pinned=talk.pinned,
        app=app,
        is_state=talk.is_state,
    )


def _by_id(listed: Sequence[SourceMessage]) -> dict[str, int]:
    by_id: dict[str, int] = {}
    for index, node in enumerate(listed):
        if node.id is not None:
            by_id.setdefault(node.id, index)
    return by_id


def _parents_of(node: SourceMessage, by_id: Mapping[str, int]) -> tuple[int, ...]:
    if not node.parents:
        parent = None if node.parent is None else by_id.get(node.parent)
        return () if parent is None else (parent,)
    return tuple(dict.fromkeys(by_id[each] for each in node.parents if each in by_id))


def _joined(links: Sequence[Link]) -> Link:
    """Join the links of a message's parents: each turn or draft once, in order."""
    if len(links) == 1:
        return links[0]
    each = (one for link in links for one in (link if isinstance(link, tuple) else (link,)) if one is not None)
    parents = tuple(dict.fromkeys(each))
    return parents if len(parents) > 1 else parents[0] if parents else None


def _key_of(talk: SourceConversation, id: str | None) -> bytes | None:
    """The key of a message that may be in another file."""
    key = make_key(talk.format, id) if talk.logged else None
    return None if key is None else key.encode()


def _ordered(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the indexes with parents before children, otherwise as listed. If parents form a circle, its first member
    becomes a root."""
    if all(each < index for index, before in enumerate(parents) for each in before):  # as nearly every file has them
        return list(range(len(parents)))
    # A stack of our own: a thread may be longer than Python recurses.
    order: dict[int, None] = {}
    open_: set[int] = set()
    for start in range(len(parents)):
        stack = [] if start in order else [(start, iter(parents[start]))]
        open_.update(index for index, _ in stack)
        while stack:
            index, rest = stack[-1]
            further = next((each for each in rest if each not in order and each not in open_), None)
            if further is None:
                order[index] = None
                open_.discard(index)
                stack.pop()
            else:
                open_.add(further)
                stack.append((further, iter(parents[further])))
    return list(order)


def _tip(
    wanted: str | None,
    by_id: Mapping[str, int],
    built: Mapping[int, Link],
    drafts: Sequence[Draft],
    links: Sequence[Link],
) -> int:
    """Return the message that the source shows last; without one, the end of the branch with the latest message, the
    last listed among equals.

    Some sources give a time to the first message alone, so a branch has the latest time on it.
    """
    index = by_id.get(wanted) if wanted is not None else None
    shown = built.get(index) if index is not None else None
    if isinstance(shown, int):
        return shown
    latest: list[int] = []
    leaves = dict.fromkeys(range(len(drafts)))
    for at, link in enumerate(links):
        before = [each for each in (link if isinstance(link, tuple) else (link,)) if isinstance(each, int)]
        latest.append(max([drafts[at].facts.said_at or 0, *(latest[each] for each in before)]))
        for each in before:
            leaves.pop(each, None)
    return max(leaves, key=lambda each: (latest[each], each))
