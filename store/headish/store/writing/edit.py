"""The verb that edits: it stores another turn beside the old one."""

from __future__ import annotations

from headish.history.edits.drafts import Edit, read_wanted
from headish.history.edits.edit import Edited, PlannedEdit, edit_turn, name_of
from headish.store.space import Space
from headish.values.checks.doors import door
from headish.values.grammar import parse_headish
from headish.values.names import Absent, read_expect


@door()
def edit(
    space: Space,
    headish: str,
    content: Edit,
    *,
    keep: bool = False,
    json: bool = False,
    expect: str | Absent | None = None,
) -> Edited:
    """Say something else in the place of a turn: a sibling that supersedes it, and is like it in all but its content.

    ``content`` is a text, which replaces the turn's text alone; or a list of blocks (with ``json`` their JSON text),
    which replaces all of them. A document takes bytes, or its text. Role, attributes, type, a document's name,
    inherited options, cache flag and the application's meta stay.

    - ``NAME`` and ``NAME~n`` edit a turn of the bookmark's branch and move the bookmark: to the new turn, or with
      ``keep`` to the end of what is kept. ``bookmarks.set(NAME, "NAME@{1}")`` takes that back. An id moves nothing.
    - ``keep``: repeat the rest of the branch after the new turn, as copies with ``copy_of``. A copy keeps the time when
    it was said, its model and stop reason, but neither key nor usage. If a turn of the branch also continues turns
      that do not follow the edited one, its copy continues those turns. With an id, only one branch may follow.
    - ``expect``: the id that the bookmark must point at, as in ``add_turn``.

    All of it is one transaction. Cost: about fifteen statements, and two or three for each turn that is kept.
    Raises: UnknownTurn, Ambiguous; InvalidArgument where the turn says this already, where a text is not enough to say
    which blocks are meant, and where several branches follow; InvalidContent, TooLarge; BookmarkMoved; CorruptTurn;
    TurnErased if the turn, or one that would be kept, was erased. Nothing is stored then.
    """
    plan = PlannedEdit(
        headish=parse_headish(headish),
        wanted=read_wanted(content, json=bool(json)),
        keep=keep,
        expect=read_expect(expect),
        author=space._author,
        limit_bytes=space._payload_limit_bytes,
    )
    result = space._store(lambda connection, mint: edit_turn(connection, space._number, plan, mint))
    return Edited(space._as_turn(result.edited), name_of(result), result.tip, result.kept)
