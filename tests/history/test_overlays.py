"""Overlays: turns that say how those before them are seen from there on, and destroy nothing (rule R34, overlays)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store
from headish.errors import BookmarkMoved, InvalidArgument, InvalidContent, UnknownTurn
from headish.values.blocks import Text, ToolResult, ToolUse
from headish.values.limits import COVERED_LIMIT
from support.growing import grow
from support.places import Place

LINE = "a? <- b <- c? <- d <- e? <- f"


@pytest.fixture
def store() -> Iterator[Store]:
    """In memory: what overlays do is decided behind the database. One test runs on each."""
    with Store.open(":memory:") as opened:
        yield opened


@pytest.fixture
def line(store: Store) -> Store:
    """Six turns, the last of them on ``main``."""
    grow(store, LINE)
    store.bookmarks.set("main", "@")
    return store


def seen(store: Store, headish: str = "main", **how: Any) -> list[str]:
    return [message.text for message in store.resolve(headish, **how).messages]


def call(store: Store, id: str, **turn: Any) -> str:
    """A call and its result behind ``main``; the id of the call's turn."""
    made = store.add_turn([{"type": "tool_use", "id": id, "name": "f", "input": {}}], role="assistant",
                          continues="main", **turn)  # fmt: skip
    store.add_turn([ToolResult(tool_use_id=id, content=(Text(f"result {id}"),))], role="tool", continues="main")
    return made.id


def test_every_database_keeps_an_overlay(place: Place) -> None:
    store = place.open()
    grow(store, LINE + ", d <- x?")
    store.bookmarks.set("main", store.heads()[-1].id)
    overlay = store.summarize("main~4", "main~2", "in short")
    assert seen(store) == ["a?", "in short", "e?", "f"]
    assert store.record(store.resolve("main").messages, bookmark="main").added == 0
    assert store.tokens("main").source == "bytes"
    assert store.get("main").id == overlay.id
    assert not store.verify().problems


class TestASummary:
    def test_stands_where_the_first_of_the_covered_turns_stood_and_both_ends_are_covered(self, line: Store) -> None:
        overlay = line.summarize("main~4", "main~2", "in short")
        assert seen(line) == ["a?", "in short", "e?", "f"]
        assert line.resolve("main").messages[1].role == "user"
        assert line.resolve("main").messages[1].turn == overlay.id

    def test_is_a_turn_for_whoever_walks(self, line: Store) -> None:
        overlay = line.summarize("main~4", "main~2", "in short")
        assert (overlay.meta.type, overlay.meta.role, overlay.meta.bookmark) == ("overlay", "system", "main")
        assert line.log("main")[0].id == line.get("main").id == overlay.id
        assert line.get("main~1").meta.role == "assistant"
        assert [each.id for each, _ in line.messages("main", limit=1)] == [overlay.id]
        assert line.tree("main")[-1].id == overlay.id
        assert not line.verify().problems

    def test_leaves_the_originals(self, line: Store) -> None:
        line.summarize("main~4", "main~2", "in short")
        assert seen(line, raw=True) == ["a?", "b", "c?", "d", "e?", "f"]

    def test_does_not_cover_instructions(self, store: Store) -> None:
        store.add_turn("be kind", role="system", bookmark="main")
        store.add_turn("a?", continues="main")
        store.add_turn("use metres", role="developer", continues="main")
        store.add_turn("b", role="assistant", continues="main")
        store.summarize("main~3", "main", "in short")
        assert seen(store) == ["be kind", "in short", "use metres"]

    def test_takes_an_earlier_one_over(self, line: Store) -> None:
        line.summarize("main~4", "main~2", "first")
        line.summarize("main~6", "main~2", "second")
        assert seen(line) == ["second", "f"]
        line.original("main")
        assert seen(line) == ["a?", "b", "c?", "d", "e?", "f"]

    def test_without_words_is_refused(self, line: Store) -> None:
        for nothing in ("", []):
            with pytest.raises(InvalidArgument, match="nothing to put in the place"):
                line.summarize("main~4", "main~2", nothing)
        with pytest.raises(InvalidArgument, match="content, or asked of a pointer"):
            line.summarize("main~4", "main~2")


class TestHiding:
    @pytest.mark.parametrize(("viewer", "model", "people"), [
        ("model", ["a?", "f"], ["a?", "b", "c?", "d", "e?", "f"]),
        ("people", ["a?", "b", "c?", "d", "e?", "f"], ["a?", "f"]),
        ("both", ["a?", "f"], ["a?", "f"]),
    ])  # fmt: skip
    def test_is_from_the_model_from_people_or_from_both(
        self, line: Store, viewer: str, model: list[str], people: list[str]
    ) -> None:
        line.hide("main~4", "main~1", viewer=viewer)
        assert seen(line) == model
        shown = json.loads(line.export("main", "chat", as_user=True))["messages"]
        assert [message["content"] for message in shown] == people

    def test_a_turn_can_be_stored_hidden_and_be_shown_later(self, line: Store) -> None:
        line.add_turn("psst", continues="main", attributes={"hidden": "model"})
        assert seen(line)[-1] == "f"
        assert line.resolve("main").notes[0].what == "the turn is stored hidden, and left out"
        line.unhide("main")
        assert seen(line)[-1] == "psst"
        assert line.resolve("main").messages[-1].attributes.hidden is None

    def test_a_word_that_hides_from_nobody_is_refused(self, line: Store) -> None:
        with pytest.raises(InvalidContent, match="model, people, both"):
            line.add_turn("psst", continues="main", attributes={"hidden": "me"})
        with pytest.raises(InvalidArgument, match="model, people or both"):
            line.hide("main", viewer="me")

    def test_an_overlay_cannot_be_made_of_attributes(self, line: Store) -> None:
        overlay = line.hide("main")
        with pytest.raises(InvalidContent, match="an overlay is made by"):
            line.add_turn("x", continues="main", attributes=overlay.meta.attributes)


class TestReplacing:
    def test_gives_a_turn_other_words_and_leaves_its_role(self, line: Store) -> None:
        line.replace("main~2", "better")
        assert seen(line) == ["a?", "b", "c?", "better", "e?", "f"]
        assert line.resolve("main").messages[3].role == "assistant"

    def test_leaves_reasoning_and_calls_where_they_are(self, line: Store) -> None:
        blocks = [{"type": "thinking", "text": "hm"}, "old", ToolUse(id="1", name="f", input={})]
        line.add_turn(blocks, role="assistant", continues="main")
        line.replace("main", "new")
        kinds = [type(block).__name__ for block in line.resolve("main").messages[-1].content]
        assert kinds == ["Thinking", "Text", "ToolUse"]
        assert seen(line)[-1] == "new"

    def test_of_a_result_changes_what_the_tool_found(self, line: Store) -> None:
        call(line, "1")
        line.replace("main", "short")
        [block] = line.resolve("main").messages[-1].content
        assert isinstance(block, ToolResult)
        assert (block.tool_use_id, block.content) == ("1", (Text("short"),))

    def test_by_blocks_that_lose_a_call_is_refused(self, line: Store) -> None:
        turn = call(line, "1")
        with pytest.raises(InvalidArgument, match="must hold the same"):
            line.replace(turn, ["only words"], continues="main")

    def test_shows_the_original_again(self, line: Store) -> None:
        line.replace("main~2", "better")
        line.original("main~3")
        assert seen(line)[3] == "d"


class TestCallsAndResults:
    def test_are_covered_together(self, line: Store) -> None:
        turn = call(line, "1")
        line.hide(turn, viewer="model", continues="main")
        assert seen(line) == ["a?", "b", "c?", "d", "e?", "f"]
        assert len(line.get("main").meta.attributes.overlay.covers) == 2  # type: ignore[union-attr]

    def test_a_result_that_comes_after_its_call_was_hidden_is_left_out_with_it(self, line: Store) -> None:
        line.add_turn([ToolUse(id="1", name="f", input={})], role="assistant", continues="main")
        line.hide("main", viewer="model")
        line.add_turn([ToolResult(tool_use_id="1")], role="tool", continues="main")
        assert seen(line) == ["a?", "b", "c?", "d", "e?", "f"]

    def test_a_result_that_is_stored_hidden_is_seen_with_its_call(self, line: Store) -> None:
        line.add_turn([ToolUse(id="1", name="f", input={})], role="assistant", continues="main")
        line.add_turn(
            [ToolResult(tool_use_id="1"), "more"], role="user", continues="main", attributes={"hidden": "model"}
        )
        assert line.resolve("main").messages[-1].content == (ToolResult(tool_use_id="1"),)


class TestWhatIsSeenSoAlready:
    """An overlay that changes nothing is not stored: a command that runs twice leaves the thread as it was."""

    def test_is_not_hidden_shown_kept_or_undone_again(self, line: Store) -> None:
        turn, tip = line.get("main~2").id, line.get("main").id
        assert line.unhide(turn, continues="main") is None
        assert line.original(turn, continues="main") is None
        assert line.get("main").id == tip
        for verb in (line.hide, line.keep, line.unhide, line.original):
            assert verb(turn, continues="main") is not None
            tip = line.get("main").id
            assert verb(turn, continues="main") is None
            assert line.get("main").id == tip
        assert not line.verify().problems

    def test_goes_by_who_sees_it(self, line: Store) -> None:
        turn = line.get("main~2").id
        line.hide(turn, continues="main", viewer="model")
        assert line.hide(turn, continues="main", viewer="model") is None
        assert line.hide(turn, continues="main", viewer="both") is not None
        assert line.hide(turn, continues="main", viewer="people") is None
        line.add_turn("psst", continues="main", attributes={"hidden": "people"})
        assert line.hide("main", viewer="people") is None

    def test_is_changed_for_all_of_a_range_if_one_of_it_is_otherwise(self, line: Store) -> None:
        first, last = line.get("main~4").id, line.get("main~2").id
        line.hide(first, continues="main")
        overlay = line.hide(first, last, continues="main")
        assert overlay is not None
        assert len(overlay.meta.attributes.overlay.covers) == 3  # type: ignore[union-attr]

    def test_in_the_same_words_is_not_stored_twice(self, line: Store) -> None:
        first, last, later = line.get("main~4").id, line.get("main~2").id, line.get("main").id
        overlay = line.replace(later, "better", continues="main")
        assert line.replace(later, "better", continues="main") == overlay
        summary = line.summarize(first, last, "in short", continues="main")
        assert line.summarize(first, last, "in short", continues="main").id == summary.id
        assert line.get("main").id == summary.id
        assert line.summarize(first, later, "in short", continues="main").id != summary.id
        assert line.replace(last, "in short", continues="main").id == line.get("main").id
        assert line.replace(last, "shorter", continues="main").id == line.get("main").id

    def test_tells_a_name_that_is_not_where_it_is_expected(self, line: Store) -> None:
        turn = line.get("main~2").id
        for verb in (line.unhide, line.original):
            with pytest.raises(BookmarkMoved):
                verb(turn, continues="main", expect=turn)
            with pytest.raises(InvalidArgument, match="expect needs a bookmark"):
                verb(turn, continues=line.get("main").id, expect=turn)


class TestBranches:
    def test_do_not_know_of_each_others_overlays(self, line: Store) -> None:
        line.bookmarks.set("other", "main~1")
        line.hide("main~4", "main~2")
        assert seen(line, "other") == ["a?", "b", "c?", "d", "e?"]

    def test_a_merge_sees_what_either_of_them_says(self, line: Store) -> None:
        line.add_turn("g?", continues="main~1", bookmark="other")
        line.hide("main~4")
        line.replace("other~3", "better")
        merged = line.add_turn("both", continues=["main", "other"])
        assert seen(line, merged.id) == ["a?", "better", "d", "e?", "f", "g?", "both"]

    def test_the_branch_is_the_one_that_the_last_turn_is_named_by(self, line: Store) -> None:
        line.bookmarks.set("other", "main~1")
        assert line.hide("other~1").meta.bookmark == "other"
        assert line.hide(line.get("main~3").id, continues="main").meta.bookmark == "main"

    def test_an_id_is_enough_where_only_one_branch_grew_from_it(self, line: Store) -> None:
        overlay = line.hide(line.get("main~3").id)
        assert overlay.meta.bookmark == "main"
        line.add_turn("g?", continues="main~3")
        with pytest.raises(InvalidArgument, match="several branches grew"):
            line.hide(line.get("main~5").id)

    def test_a_turn_of_another_branch_is_refused(self, line: Store) -> None:
        other = line.add_turn("elsewhere", bookmark="other")
        with pytest.raises(InvalidArgument, match="does not hold all"):
            line.hide(other.id, "main")
        with pytest.raises(InvalidArgument, match="name the first of them first"):
            line.hide("main", "main~2")
        with pytest.raises(UnknownTurn):
            line.hide("nobody")

    def test_expect_refuses_where_the_name_has_moved(self, line: Store) -> None:
        from headish.errors import BookmarkMoved

        before = line.get("main").id
        line.add_turn("g?", continues="main")
        with pytest.raises(BookmarkMoved):
            line.hide("main~2", expect=before)


class TestTheRest:
    def test_a_request_names_the_overlays(self, line: Store) -> None:
        overlay = line.summarize("main~4", "main~2", "in short")
        request = line.request("main", "anthropic", model="claude")
        assert any(overlay.id in origin.turns for origin in request.origins)
        assert any(note.turn == overlay.id and "summary of 3 turns" in note.what for note in request.notes)

    def test_a_note_tells_of_overlays_that_still_hold(self, line: Store) -> None:
        line.hide("main~3", viewer="model")
        line.original("main")
        assert line.resolve("main").notes == ()

    @pytest.mark.parametrize("format", ["v0.1", "2.0", "2.2", "harmony", "rwkv", "chat", "responses", "anthropic"])
    def test_every_transcript_is_what_a_model_sees(self, line: Store, format: str) -> None:
        line.summarize("main~4", "main~2", "in short")
        text = line.export("main", format)
        assert "in short" in text
        assert "c?" not in text
        assert "in short" not in line.export("main", format, raw=True)

    def test_a_header_stays_where_the_first_imported_turn_is_covered(self, store: Store, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_text("version: 2.2\nmodel: small\n\n<|start|>user<|message|>a<|end|>\n"
                        "<|start|>assistant<|channel|>final<|message|>b<|end|>\n")  # fmt: skip
        store.import_file(path, format="2.2", bookmark="main")
        store.hide("main~1", viewer="model")
        assert 'model: "small"' in store.export("main", "2.2")

    def test_a_copy_in_another_space_is_seen_the_same(self, line: Store) -> None:
        line.summarize("main~4", "main~2", "in short")
        other = Database(line._database).store("other", create=True)
        line.copy_to("other", ["main"])
        assert seen(other) == ["a?", "in short", "e?", "f"]

    def test_more_turns_than_one_overlay_can_cover_are_refused(self, line: Store, monkeypatch: Any) -> None:
        monkeypatch.setattr("headish.history.overlays.covering.COVERED_LIMIT", 3)
        with pytest.raises(InvalidArgument, match="at most 3 turns, not 4: lay several"):
            line.hide("main~4", "main~1")

    def test_the_limit_of_covered_turns_fits_into_the_attributes(self) -> None:
        from headish.content.drafts import make_overlay_draft
        from headish.values.messages import Overlay

        assert make_overlay_draft(Overlay("hide", ("0" * 64,) * COVERED_LIMIT, "people"), (), 1000, continues=())

    def test_an_overlay_of_a_later_version_is_an_error_that_names_it(self, line: Store, monkeypatch: Any) -> None:
        from headish.errors import CorruptTurn
        from headish.history.windows import states

        overlay = line.keep("main")
        monkeypatch.delitem(states._EFFECTS, "keep")
        with pytest.raises(CorruptTurn, match=f"{overlay.id}.*'keep'; a newer headish may know it"):
            line.resolve("main")


class TestRecording:
    def test_a_client_that_sends_the_summary_back_adds_its_new_message_alone(self, line: Store) -> None:
        overlay = line.summarize("main~4", "main~2", "in short")
        window = list(line.resolve("main").messages)
        recorded = line.record([*window, {"role": "user", "content": "new"}], bookmark="main")
        assert (recorded.added, recorded.tip.meta.continues) == (1, (overlay.id,))
        assert line.record([*window, {"role": "user", "content": "new"}], bookmark="main").added == 0
        assert line.record([*window, {"role": "user", "content": "new"}], continues=overlay.id).added == 0

    def test_a_client_that_goes_back_behind_the_overlay_branches_there(self, line: Store) -> None:
        line.summarize("main~4", "main~2", "in short")
        for text in ("g?", "h", "i?"):
            line.add_turn(text, role="user" if "?" in text else "assistant", continues="main")
        after = line.get("main~1")
        window = list(line.resolve("main").messages[:-1])
        recorded = line.record([*window, {"role": "user", "content": "instead"}], bookmark="main")
        assert (recorded.added, recorded.tip.meta.continues) == (1, (after.id,))

    def test_a_client_that_goes_back_behind_a_merge_is_seen_as_it_sends(self, store: Store) -> None:
        store.add_turn("start", bookmark="main")
        store.hide(store.add_turn("aside", continues="main").id, continues="main")
        overlay = store.get("main").id
        sides = [store.add_turn(text, continues=overlay).id for text in ("one", "two")]
        merge = store.add_turn("both", continues=sides, bookmark="main").id
        window = store.resolve("main").messages
        for known in range(1, len(window) + 1):
            recorded = store.record([*window[:known], {"role": "user", "content": f"new {known}"}], bookmark="main")
            seen = [message.text for message in store.resolve(recorded.tip.id).messages]
            assert seen == [*(message.text for message in window[:known]), f"new {known}"]
            store.bookmarks.set("main", merge)

    def test_instructions_that_changed_are_laid_over_the_old_ones(self, store: Store) -> None:
        """Finding N28: a client that puts the time into its instructions stored the whole list again each time."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "It is one.", "cache": True},
            {"role": "developer", "content": "Be brief."},
        ]
        for number in range(5):
            messages += [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": f"{number}!"}]
        store.record(messages, bookmark="main")
        for time in ("two", "three", "two", "one", "two"):
            messages[0] = {"role": "system", "content": f"It is {time}.", "cache": True}
            messages.append({"role": "user", "content": f"at {time}?"})
            assert store.record(messages, bookmark="main").added == 2
            seen = [(each.role, each.text) for each in store.resolve("main").messages]
            assert seen == [(each["role"], each["content"]) for each in messages]
            assert [each.cache for each in store.resolve("main").messages][:3] == [True, False, False]
            assert store.record(messages, bookmark="main").added == 0
        messages[:2] = [{"role": "system", "content": "It is four."}, {"role": "developer", "content": "Be long."}]
        assert store.record(messages, bookmark="main").added == 2
        assert [each.text for each in store.resolve("main").messages][:3] == ["It is four.", "Be long.", "0?"]
        assert store.verify().problems == ()

    def test_what_changed_beside_the_words_of_instructions_is_another_thread(self, store: Store) -> None:
        system, user = {"role": "system", "content": "a"}, {"role": "user", "content": "b"}
        cases: list[list[dict[str, Any]]] = [
            [{**system, "content": "c", "role": "developer"}, user],
            [{**system, "content": "c"}, {**user, "content": "d"}],
            [{**system, "content": "c", "key": "k"}, user],
            [{**system, "content": "c", "attributes": {"speaker": "Ann"}}, user],
            [{**system, "content": "c"}],
        ]
        for number, listed in enumerate(cases):
            store.record([system, user], bookmark=f"talk{number}")
            recorded = store.record(listed, bookmark=f"talk{number}")
            assert recorded.added == len(listed), listed
            assert not [turn for turn in store.log(recorded.tip.id) if turn.meta.type == "overlay"]

    def test_a_hidden_turn_is_no_reason_to_store_the_rest_again(self, line: Store) -> None:
        line.add_turn("psst", continues="main", attributes={"hidden": "model"})
        line.add_turn("g", continues="main", role="assistant")
        assert line.record(line.resolve("main").messages, bookmark="main").added == 0

    def test_a_list_without_a_name_is_never_looked_for_behind_overlays(self, line: Store) -> None:
        line.summarize("main~5", "main~2", "in short")
        assert line.record(line.resolve("main").messages).added == 3
