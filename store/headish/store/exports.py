"""Verbs that write a thread for the outside: a page for people, a transcript."""

from __future__ import annotations

from collections.abc import Collection

from headish.database.query import Connection
from headish.history.resolve import kept_thread
from headish.history.trees import build_tree
from headish.history.walk import walk
from headish.rows.turns import StoredTurn
from headish.rows.walks import read_links
from headish.store.read import read_names, read_tree
from headish.store.space import Headishes, Space
from headish.values.ids import TurnId
from headish.values.messages import Kept
from headish.values.turns import TreeTurn


def render(
    space: Space,
    headish: str = "@",
    format: str = "html",
    *,
    branches: bool = False,
    debug: bool = False,
    title: str | None = None,
) -> str:
    """A thread for people, as ``html`` (one page that stands alone), ``markdown`` or ``text``.

    The page holds only what an end user may see, and only the thread that leads to the headish. ``branches`` adds every
    other branch of its tree (``text`` counts them) and the bookmarks. ``debug`` shows system and tool messages, calls,
    reasoning and the bookmarks too. Without ``title`` the title is the first words of the user.
    Raises: UnknownFormat; CorruptTurn.
    """
    from headish.renderings import make_page, render  # late, as below

    def work(connection: Connection, stored: StoredTurn) -> tuple[list[TurnId], list[TreeTurn]]:
        walked = walk(connection, space._number, [stored.place])
        thread = [each.id for each in walked]
        if branches:
            return thread, read_tree(connection, space._number, stored)
        links = read_links(connection, space._number, stored.place)
        # A name may tell of a branch that does not leave with the page.
        return thread, build_tree(walked, links, read_names(connection, space._number) if debug else {})

    return render(make_page(*space._read_at(headish, work), title=title, debug=debug), format)


def export(
    space: Space,
    headish: Headishes = "@",
    format: str = "2.2",
    *,
    drop: Collection[str] = (),
    as_user: bool = False,
    for_completion: bool = False,
) -> str:
    """The thread that leads to a headish as a transcript (``v0.1``, ``2.0``, ``2.2``, ``harmony``, ``rwkv``).

    A thread that was imported from the same format comes back byte for byte, if its text was canonical; another one is
    converted, a thread of other turns flattened. ``drop`` names what may be lost, else it is refused. ``as_user``
    leaves only what an end user may see. ``for_completion`` drops the reasoning of finished turns and ends with the
    open header of the next answer.
    Raises: Unrepresentable and its kinds, with the word for ``drop``; UnknownFormat, InvalidArgument; CorruptTurn.
    """
    # Late: it brings every format, and most processes write none.
    from headish.transcripts.threads import for_people, write_thread

    thread = space._read_from(headish, lambda connection, places: kept_thread(walk(connection, space._number, places)))
    if as_user:
        thread = [Kept(message, {}) for message in for_people(thread)]
    return write_thread(thread, format, drop=drop, completes=for_completion)
