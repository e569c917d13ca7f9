"""Compactions: a window holds what the program's own window held, and the thread stays whole."""

from __future__ import annotations

import io
from typing import Any

import pytest

from headish import Store
from imports.test_claude_code import SESSION, WORK, answer, line, session
from imports.test_claude_code import texts as texts_of
from imports.test_codex import WORK as ROLLOUT
from imports.test_codex import assistant, rollout, user
from imports.test_codex import line as codex_line
from support.insides import unchanged


def boundary(uuid: str = "b1", last: str = "a5", **metadata: Any) -> dict[str, Any]:
    record = line("system", uuid, None, subtype="compact_boundary", logicalParentUuid=last)
    return {**record, "compactMetadata": {"trigger": "manual", "preTokens": 900, **metadata}}


def summary(uuid: str = "s1", parent: str = "b1", words: str = "So far: files.") -> dict[str, Any]:
    return line("user", uuid, parent, words, isCompactSummary=True)


def said(store: Store, name: str) -> list[str]:
    """The first words of each turn of the whole thread."""
    turns = reversed(store.log(name))
    return [store.text(turn.id) or turn.meta.role or "" for turn in turns]


class TestClaudeCode:
    def test_a_summary_stands_for_what_was_before_it(self, store: Store) -> None:
        store.import_file(session(*WORK, boundary(), summary(), line("user", "u3", "s1", "Go on")))
        assert texts_of(store, "list-the-files") == ["So far: files.", "Go on"]
        assert len(store.log("list-the-files")) == 7
        turn = store.find("claude-code:s1")
        assert (turn.meta.type, turn.meta.attributes.overlay.does) == ("overlay", "summarize")
        assert len(turn.meta.attributes.overlay.covers) == 5
        assert turn.meta.app["claude-code"]["isCompactSummary"] is True
        assert len(store.resolve("list-the-files", raw=True).messages) > 5
        assert store.verify().problems == ()
        with unchanged(store):
            assert (
                store.import_file(session(*WORK, boundary(), summary(), line("user", "u3", "s1", "Go on"))).added == 0
            )

    @pytest.mark.parametrize("nameless", ["s1", "u3"])
    def test_a_summary_or_a_message_after_it_whose_uuid_makes_no_key_is_stored_once(
        self, store: Store, nameless: str
    ) -> None:
        written = session(*WORK, boundary(), summary(), line("user", "u3", "s1", "Go on")).getvalue()
        written = written.replace(nameless.encode(), b"x" * 10_000)
        assert store.import_file(io.BytesIO(written), "claude-code").added == 7
        assert texts_of(store, store.bookmarks.list()[0].name) == ["So far: files.", "Go on"]
        with unchanged(store):
            assert store.import_file(io.BytesIO(written), "claude-code").added == 0

    @pytest.mark.parametrize("named", ["segment", "list"])
    def test_what_it_kept_stays_in_the_window_and_is_followed_by_what_comes_next(
        self, store: Store, named: str
    ) -> None:
        """The kept lines are written again behind the summary, and the next line hangs on the last of them."""
        kept: dict[str, Any] = {
            "segment": {"preservedSegment": {"headUuid": "a5", "anchorUuid": "s1", "tailUuid": "a5"}},
            "list": {"preservedMessages": {"anchorUuid": "s1", "uuids": ["a5"]}},
        }[named]
        again = {**WORK[-1], "parentUuid": "s1"}
        records = [*WORK, boundary(**kept), summary(), again, line("user", "u3", "a5", "Go on")]
        store.import_file(session(*records))
        assert texts_of(store, "list-the-files") == ["So far: files.", "Two files.", "Go on"]
        assert len(store.heads()) == 1

    def test_a_second_one_stands_for_the_first_as_well(self, store: Store) -> None:
        more = [line("user", "u3", "s1", "Go on"), answer("c1", "u3", "msg_5", {"type": "text", "text": "Done."})]
        records = [*WORK, boundary(), summary(), *more, boundary("b2", "c1"), summary("s2", "b2", "All done.")]
        store.import_file(session(*records, line("user", "u4", "s2", "Thanks")))
        assert texts_of(store, "list-the-files") == ["All done.", "Thanks"]

    def test_a_boundary_may_name_a_line_that_is_written_later(self, store: Store) -> None:
        records = [
            *WORK,
            boundary(last="k1"),
            summary(),
            line("user", "k1", "s1", "kept"),
            line("user", "u3", "k1", "Go on"),
        ]
        store.import_file(session(*records))
        assert texts_of(store, "list-the-files") == ["So far: files.", "kept", "Go on"]
        assert said(store, "list-the-files")[0] == "List the files"
        assert len(store.heads()) == 1

    def test_a_boundary_continues_the_line_that_it_names_and_not_the_last_one(self, store: Store) -> None:
        first = next(each["uuid"] for each in WORK if each["type"] == "user")
        aside = line("user", "f1", first, "Something else")
        store.import_file(session(*WORK, aside, boundary(last="a5"), summary(), line("user", "u3", "s1", "Go on")))
        assert texts_of(store, "list-the-files") == ["So far: files.", "Go on"]
        before = said(store, "list-the-files")[:-2]
        assert (before[0], before[-1]) == ("List the files", "Two files.")
        assert "Something else" not in before
        assert len(store.find("claude-code:s1").meta.attributes.overlay.covers) == 5

    def test_what_an_earlier_version_stored_as_a_turn_stays_one(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        records = [*WORK, boundary(), summary(), line("user", "u3", "s1", "Go on")]
        with monkeypatch.context() as older:
            older.setattr("headish.imports.keeping.storing.COVERED_LIMIT", 0)
            store.import_file(session(*records))
        assert store.find("claude-code:s1").meta.role == "user"
        assert store.import_file(session(*records, line("user", "u4", "u3", "More"))).added == 1
        assert store.get("list-the-files~2").meta.role == "user"

    def test_a_summary_without_what_it_sums_up_is_a_turn(self, store: Store) -> None:
        store.import_file(session(boundary(last="elsewhere"), summary(), line("user", "u3", "s1", "Go on")))
        [first, _] = store.resolve("@").messages
        assert (first.role, first.text) == ("user", "So far: files.")
        assert store.conversations.find(f"claude-code:{SESSION}")


class TestCodex:
    def test_a_summary_stands_for_all_but_what_the_user_said(self, store: Store) -> None:
        compacted = codex_line("compacted", {"message": "Files were listed."})
        store.import_file(rollout(*ROLLOUT, compacted, user("Go on"), assistant("Done.")))
        [_, *window] = texts_of(store, "list-the-files")
        assert sorted(window) == sorted(["List the files", "Files were listed.", "Go on", "Done."])
        assert len(store.log("list-the-files")) == 9
        assert store.get("list-the-files~2").meta.app["codex"]["compacted"] is True

    def test_what_replaces_the_history_says_what_is_kept(self, store: Store) -> None:
        history = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Files were listed."}]}
        ]
        compacted = codex_line("compacted", {"message": "", "replacement_history": history})
        store.import_file(rollout(*ROLLOUT, compacted, user("Go on")))
        assert texts_of(store, "list-the-files") == ["Files were listed.", "Go on"]
