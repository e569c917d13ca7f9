"""Verbs that write a thread for the outside: a page for people, a transcript."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headish.database.query import Connection
from headish.errors import InvalidArgument, UnknownServer
from headish.history.definitions import tools_served
from headish.history.resolve import kept_thread, resolve_options
from headish.history.trees import build_tree
from headish.history.walk import walk
from headish.rows.turns import StoredTurn
from headish.rows.walks import read_links
from headish.store.read import read_names, read_tree
from headish.store.space import Headishes, Space
from headish.values.doors import door
from headish.values.ids import TurnId
from headish.values.messages import Kept
from headish.values.places import Place
from headish.values.turns import TreeTurn

Definition = Mapping[str, Any]


@door()
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


@door()
def export(
    space: Space,
    headish: Headishes = "@",
    format: str = "2.2",
    *,
    drop: Collection[str] = (),
    as_user: bool = False,
    for_completion: bool = False,
    for_training: bool = False,
    policy: str = "ocm",
    tight: bool = False,
    **spelling: Any,
) -> str:
    """The thread that leads to a headish as a transcript (``v0.1``, ``2.0``, ``2.2``, ``harmony``, ``rwkv``).

    Also as the messages of an API, in JSON text: ``chat``, ``responses``, ``anthropic``. Each message is written in its
    own form: one that was imported from the same format comes back byte for byte, if its text was canonical; one of
    another format is converted, one that a program or a provider made is written from the model. Where headish writes
    the head of the text, it says the version, the model and the settings that the thread's options hold, and defines
    the tools of the thread's ``servers``, as far as the format has a place for them.

    - ``drop``: what may be lost, by name; else it is refused. ``as_user``: only what an end user may see.
    - ``for_completion``: without the reasoning of finished turns, as ``policy`` drops it (``ocm`` or ``harmony``), and
      with the open header of the next answer. ``for_training``: a final answer at the end ends in ``<|return|>``.
    - ``tight``: of OpenChatML 0.1, no line break before ``<|im_end|>`` where headish writes a message. ``spelling``:
      ``bos`` and ``eos``, the base model's tokens; ``strict=False`` also writes what only a relaxed import read.

    Raises: Unrepresentable and its kinds, with all the words for ``drop`` that are needed; UnknownFormat,
    InvalidArgument; UnknownServer for a completion whose tools are not known; CorruptTurn.
    """
    # Late: it brings every format, and most processes write none.
    from headish.transcripts.threads import Ending, for_people, write_thread

    ending = Ending(completes=for_completion, policy=policy, trains=for_training, tight=tight)

    def work(connection: Connection, places: list[Place]) -> tuple[list[Kept], dict[str, Any], list[Definition]]:
        walked = walk(connection, space._number, places)
        options = resolve_options(walked)
        return kept_thread(walked), options, _tools(connection, space, options, must_know=for_completion)

    thread, options, tools = space._read_from(headish, work)
    if as_user:
        thread, options, tools = [Kept(message, {}) for message in for_people(thread)], {}, []
    return write_thread(thread, format, drop=drop, ending=ending, options=options, tools=tools, **spelling)


def _tools(connection: Connection, space: Space, options: Mapping[str, Any], *, must_know: bool) -> list[Definition]:
    """The tools of the thread's servers. A prompt must name them all; a transcript names those that are known."""
    try:
        return tools_served(connection, space._number, options.get("servers"))
    except (UnknownServer, InvalidArgument):
        if must_know:
            raise
        return []
