"""The names of imported conversations: there is always one, and an import moves it once."""

from __future__ import annotations

import json
from typing import Any

from headish import Store
from imports.test_chatgpt import TIDES, as_zip
from imports.test_claude_code import SESSION, answer, line, session
from support.insides import unchanged


def agent(number: int) -> list[dict[str, Any]]:
    """A sub-agent whose task and whose first eight letters are those of the others."""
    further = {"isSidechain": True, "agentId": f"aaaaaaaa{number:02}"}
    return [
        {**line("user", f"g{number}", None, f"Find the tests {'x' * 60}"), **further},
        {**answer(f"h{number}", f"g{number}", f"msg_{number}", {"type": "text", "text": f"{number}."}), **further},
    ]


def test_names_never_run_out_and_nothing_of_a_conversation_is_dropped(store: Store) -> None:
    records = [each for number in range(12) for each in agent(number)]
    done = store.import_file(session(*records))
    assert (done.trees, done.bookmarks, len(store.bookmarks)) == (12, 12, 12)
    for number in range(12):
        found = store.conversations.find(f"claude-code:{SESSION}:aaaaaaaa{number:02}")
        assert found.record.tags[-1] == "sub-agent"
        assert store.text(found.name) == f"{number}."
    with unchanged(store):
        assert store.import_file(session(*records)).bookmarks == 0


def test_conversations_of_one_title_and_without_ids_have_names_as_well(store: Store) -> None:
    talks = [
        {
            **TIDES,
            "id": None,
            "conversation_id": None,
            "mapping": json.loads(json.dumps(TIDES["mapping"]).replace("Why", f"{number} why")),
        }
        for number in range(5)
    ]
    assert store.import_file(as_zip({"conversations.json": talks})).bookmarks == 5
    with unchanged(store):
        assert store.import_file(as_zip({"conversations.json": talks})).bookmarks == 0
