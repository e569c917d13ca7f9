"""Three ways lead LangChain's messages into a database: a chat history, a graph's saver, and the import of another
saver's file. All of them store the same blocks, whatever the message, and the first two give it back equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headish import Message, Store, Turn
from headish.transcripts.frameworks.langchain.messages import split
from support.frameworks import needs
from support.langchain.checkpoints import write_checkpoint
from support.langchain.messages import MESSAGES, Fields
from support.later import Later
from support.loops import failing

core = Later("langchain_core.messages")
history = Later("headish.integrations.langchain")
langgraph = Later("headish.integrations.langgraph")
savers = Later("support.savers")
LISTED = [(kind, {**fields, "id": f"m{at}"}) for at, (kind, fields) in enumerate(MESSAGES.values())]


class Stored(NamedTuple):
    """What a way stored of all messages, by the names of those that say something; and the messages that it gives."""

    turns: dict[str, tuple[Turn, Message]]
    given: list[Any] | None


def through_history(path: Path) -> list[Any]:
    with history.HeadishChatMessageHistory("chat", path) as chat:
        chat.add_messages(made())
    with history.HeadishChatMessageHistory("chat", path) as chat:
        return [*chat.messages]


def through_saver(path: Path) -> list[Any]:
    with langgraph.HeadishSaver(path) as saver:
        at = savers.put(saver, made(), thread="chat")
    with langgraph.HeadishSaver(path) as saver:
        return [*saver.get_tuple(at).checkpoint["channel_values"]["messages"]]


def through_import(path: Path) -> None:
    other = write_checkpoint(path.with_name("theirs.db"), LISTED)
    with Store.open(path) as store:
        assert store.import_file(other, "langgraph").broken == 0
        store.bookmarks.rename(store.conversations.find("langgraph:t").name, "chat")


def made() -> list[Any]:
    return [revived(kind, fields) for kind, fields in LISTED]


def revived(kind: str, fields: Fields) -> Any:
    return core.messages_from_dict([{"type": kind, "data": fields}])[0]


WAYS: dict[str, Callable[[Path], list[Any] | None]] = {
    "history": through_history,
    "saver": through_saver,
    "import": through_import,
}


def stored(way: str, path: Path) -> Stored:
    given = WAYS[way](path)
    # The importer walks through a message that says nothing.
    names = [name for name, message in MESSAGES.items() if way != "import" or split(*message).blocks]
    with Store.open(path) as store:
        assert store.verify().problems == ()
        return Stored(dict(zip(names, store.messages("chat"), strict=True)), given)


@pytest.mark.parametrize(
    "way",
    [
        pytest.param("import", marks=pytest.mark.xdist_group("langgraph")),
        pytest.param("history", marks=needs("langchain_core", "langchain-core")),
        pytest.param("saver", marks=needs("langgraph.checkpoint", "langgraph")),
    ],
)
def test_each_way_stores_the_same_turn_of_a_message(tmp_path: Path, way: str) -> None:
    turns, given = stored(way, tmp_path / "chat.db")

    def is_the_same(place: int, name: str) -> None:
        expected = split(*MESSAGES[name])
        if name not in turns:
            assert (way, expected.blocks) == ("import", [])
            return
        turn, message = turns[name]
        assert message.content == tuple(expected.blocks)
        assert (message.role, message.attributes.speaker) == (expected.role, expected.speaker)
        assert message.cache == expected.cache
        assert expected.reply.items() <= (turn.meta.reply or {}).items()
        if given is not None:
            assert given[place] == revived(*LISTED[place])

    assert failing(enumerate(MESSAGES), is_the_same) == {}
