"""Appending: a turn is stored once, whole, at once, and links back to what it continues."""

from __future__ import annotations

import time
from types import MappingProxyType

import msgspec
import pytest
from blake3 import blake3

from headish import Store
from headish.content.encoding import encode_text
from headish.errors import InvalidRole, TooLarge, UnknownTurn
from headish.values.blocks import Document, Other, Text, ToolUse
from headish.values.limits import INLINE_BYTES, MAPPING_LIMIT_BYTES
from headish.values.messages import Attributes
from support.growing import grow, texts
from support.insides import counted_statements, dump, unchanged
from support.places import FilePlace, Place


class TestContent:
    def test_a_string_is_one_text_block(self, store: Store) -> None:
        turn = store.add_turn("hello")
        assert store.blocks(turn.id) == (Text("hello"),)
        assert store.payload(turn.id) == b'[{"type":"text","text":"hello"}]'

    def test_a_list_of_strings_is_a_block_each(self, store: Store) -> None:
        assert store.blocks(store.add_turn(["one", "two"]).id) == (Text("one"), Text("two"))

    def test_a_block_may_be_a_struct_a_mapping_or_a_string_in_one_list(self, store: Store) -> None:
        turn = store.add_turn([Text("a"), {"type": "tool_use", "name": "f", "input": {"x": 1}}, "b"])
        assert store.blocks(turn.id) == (Text("a"), ToolUse("f", input={"x": 1}), Text("b"))

    def test_one_block_needs_no_list(self, store: Store) -> None:
        assert store.blocks(store.add_turn({"type": "text", "text": "a"}).id) == (Text("a"),)
        assert store.blocks(store.add_turn(Text("a")).id) == (Text("a"),)

    def test_an_iterator_of_blocks_is_taken(self, store: Store) -> None:
        assert store.blocks(store.add_turn(iter(["a", "b"])).id) == (Text("a"), Text("b"))

    def test_json_text_of_blocks_is_read_with_json(self, store: Store) -> None:
        turn = store.add_turn('[{"type": "text", "text": "a"}, "b"]', json=True)
        assert store.blocks(turn.id) == (Text("a"), Text("b"))

    def test_json_text_without_json_is_only_text(self, store: Store) -> None:
        assert store.blocks(store.add_turn('[{"type": "text"}]').id) == (Text('[{"type": "text"}]'),)

    def test_an_empty_text_and_no_blocks_at_all_are_content_too(self, store: Store) -> None:
        assert store.blocks(store.add_turn("").id) == (Text(""),)
        assert store.blocks(store.add_turn([]).id) == ()

    def test_any_mapping_is_taken_not_only_a_dict(self, store: Store) -> None:
        frozen = MappingProxyType({"deep": MappingProxyType({"a": 1})})
        turn = store.add_turn([MappingProxyType({"type": "x", "data": frozen})], inherited=frozen, meta=frozen)
        assert store.blocks(turn.id) == (Other("x", {"type": "x", "data": {"deep": {"a": 1}}}),)
        assert turn.meta.inherited == turn.meta.app == {"deep": {"a": 1}}

    def test_what_the_caller_changes_afterwards_does_not_change_the_turn(self, store: Store) -> None:
        given = {"type": "x", "data": [1]}
        turn = store.add_turn([given])
        given["data"] = [2]
        assert store.blocks(turn.id) == (Other("x", {"type": "x", "data": [1]}),)


LARGE = "x" * (INLINE_BYTES + 1)


class TestAddresses:
    """Rule I3, one address: a payload is found by the BLAKE3 of its bytes, and stored once."""

    def test_hash_is_the_blake3_of_the_stored_bytes(self, store: Store) -> None:
        turn = store.add_turn("hello")
        assert turn.hash == blake3(store.payload(turn.id)).hexdigest()

    def test_a_string_and_one_text_block_are_the_same_payload(self, store: Store) -> None:
        given = ["a", ["a"], Text("a"), {"text": "a", "type": "text"}]
        assert len({store.add_turn(content).hash for content in given}) == 1

    def test_equal_large_payloads_are_stored_once(self, store: Store) -> None:
        for _ in range(3):
            store.add_turn("again")
            store.add_turn(LARGE)
        store.add_turns([LARGE, LARGE, "other"])
        assert store.stats().turns == 9
        assert [row[2] for row in dump(store)["payload"]] == [len(encode_text(LARGE))]

    def test_equal_payloads_of_two_spaces_are_two_rows(self, durable_place: Place) -> None:
        one, other = durable_place.open("one"), durable_place.open("other")
        assert one.add_turn(LARGE).hash == other.add_turn(LARGE).hash
        assert len(dump(one)["payload"]) == len(dump(other)["payload"]) == 1

    @pytest.mark.parametrize("size", [INLINE_BYTES, INLINE_BYTES + 1])
    def test_a_payload_lies_in_its_row_up_to_the_limit_and_reads_the_same(self, store: Store, size: int) -> None:
        """Rule R28, small payloads."""
        text = "x" * (size - len(encode_text("")))
        turn = store.add_turn(text, bookmark="main")
        assert len(store.payload(turn.id)) == size
        assert len(dump(store)["payload"]) == (size > INLINE_BYTES)
        for blocks in (store.blocks(turn.id), store.resolve("main").messages[0].content, store.tree("@")[0].content):
            assert blocks == (Text(text),)
        assert store.verify().problems == ()

    def test_a_turn_that_says_the_same_again_is_another_turn(self, store: Store) -> None:
        one, two = store.add_turn("again"), store.add_turn("again")
        assert one.digest == two.digest
        assert one.id != two.id
        assert one.seal != two.seal
        assert one != two


class TestMeta:
    def test_the_returned_turn_is_complete(self, store: Store) -> None:
        first = store.add_turn("q", bookmark="main")
        turn = store.add_turn(
            "a",
            role="assistant",
            continues="main",
            inherited={"temperature": 0.5},
            cache=True,
            attributes={"speaker": "Ada", "channel": "final"},
            meta={"ticket": 7},
        )
        assert turn.meta.role == "assistant"
        assert turn.meta.content_type == "application/json"
        assert turn.meta.type is None
        assert turn.meta.bookmark == "main"
        assert turn.meta.continues == (first.id,)
        assert turn.meta.cache is True
        assert turn.meta.attributes == Attributes(speaker="Ada", channel="final")
        assert turn.meta.inherited == {"temperature": 0.5}
        assert turn.meta.app == {"ticket": 7}
        assert turn.meta.system == {}

    def test_what_is_read_back_is_what_was_returned(self, store: Store) -> None:
        grown = grow(store, "a? <- b, a? <- c, b + c <- d", cache=True, meta={"k": [1, None]}, inherited={"x": 1})
        for turn in grown.values():
            read = store.get(turn.id)
            assert read.to_dict() == turn.to_dict()
            assert read == turn
            assert hash(read) == hash(turn)

    def test_as_plain_data_it_leaves_out_what_is_absent(self, store: Store) -> None:
        turn = store.add_turn("a")
        assert turn.to_dict() == {
            "id": turn.id,
            "hash": turn.hash,
            "digest": turn.digest,
            "seal": turn.seal,
            "meta": {"role": "user", "content_type": "application/json", "continues": []},
        }

    def test_null_and_order_inside_meta_and_inherited_are_kept(self, store: Store) -> None:
        record = {"z": None, "a": {"y": 1, "b": []}, "big": 2**80, "float": 1.0}
        turn = store.add_turn("a", meta=record, inherited=record)
        for kept in (turn.meta.app, turn.meta.inherited):
            assert kept == record
            assert msgspec.json.encode(kept) == b'{"z":null,"a":{"y":1,"b":[]},"big":%d,"float":1.0}' % 2**80

    def test_empty_records_are_the_same_as_none(self, store: Store) -> None:
        plain = store.add_turn("a")
        empty = store.add_turn("a", meta={}, inherited={}, attributes={})
        assert empty.to_dict()["meta"] == plain.to_dict()["meta"]
        assert empty.digest == plain.digest

    def test_a_turn_cannot_be_altered(self, store: Store) -> None:
        with pytest.raises(AttributeError):
            store.add_turn("a").id = "b"  # type: ignore[misc]

    def test_roles_are_the_five(self, store: Store) -> None:
        for role in ("system", "developer", "user", "assistant", "tool"):
            assert store.get(store.add_turn("a", role=role).id).meta.role == role
        with unchanged(store), pytest.raises(InvalidRole, match=r"'function'.*system, developer, user"):
            store.add_turn("a", role="function")


class TestContinues:
    def test_a_turn_continues_nothing_one_or_several(self, store: Store) -> None:
        a, b = store.add_turn("a"), store.add_turn("b")
        c = store.add_turn("c", continues=a.id)
        d = store.add_turn("d", continues=[b.id, c.id])
        assert [turn.meta.continues for turn in (a, b, c, d)] == [(), (), (a.id,), (b.id, c.id)]

    def test_the_order_of_what_is_continued_is_kept(self, store: Store) -> None:
        a, b = store.add_turn("a"), store.add_turn("b")
        assert texts(store, store.add_turn("c", continues=[a.id, b.id]).id) == ["a", "b", "c"]
        assert texts(store, store.add_turn("c", continues=[b.id, a.id]).id) == ["b", "a", "c"]

    def test_naming_one_turn_twice_continues_it_once(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        assert store.add_turn("b", continues=[a.id, "main", "@"]).meta.continues == (a.id,)

    def test_an_empty_list_continues_nothing(self, store: Store) -> None:
        store.add_turn("a")
        assert store.add_turn("b", continues=[]).meta.continues == ()

    def test_respond_continues_the_newest_turn(self, store: Store) -> None:
        store.add_turn("a")
        b = store.add_turn("b")
        assert store.add_turn("c", respond=True).meta.continues == (b.id,)

    def test_respond_comes_behind_what_is_continued_by_name(self, store: Store) -> None:
        a = store.add_turn("a")
        b = store.add_turn("b")
        assert store.add_turn("c", continues=a.id, respond=True).meta.continues == (a.id, b.id)

    def test_respond_in_an_empty_space_has_nothing_to_answer(self, store: Store) -> None:
        with unchanged(store), pytest.raises(UnknownTurn):
            store.add_turn("a", respond=True)

    def test_ids_are_taken_in_either_case_and_given_in_lower_case(self, store: Store) -> None:
        """Rule I2, minted ids; rule R11, names for turns."""
        a = store.add_turn("a")
        assert a.id == a.id.lower()
        assert store.get(a.id.upper()).id == a.id
        assert store.add_turn("b", continues=a.id.upper()).meta.continues == (a.id,)

    def test_a_fork_is_one_turn_and_one_link(self, store: Store) -> None:
        a = grow(store, "a? <- b <- c? <- d")["a?"]
        before = {table: len(rows) for table, rows in dump(store).items()}
        store.add_turn("new branch", continues=a.id)
        after = {table: len(rows) for table, rows in dump(store).items()}
        assert {table: after[table] - before[table] for table in after} == {
            **dict.fromkeys(after, 0), "turn": 1, "link": 1,
        }  # fmt: skip

    def test_statements_of_an_append_do_not_grow_with_the_thread(self, store: Store) -> None:
        store.add_turn("first", bookmark="main")
        counts = []
        for number in range(60):
            if number == 30:
                store.bookmarks.set("elsewhere", "main")  # what was remembered holds no more
            with counted_statements() as counted:
                store.add_turn(f"turn {number}", continues="main")
            counts.append(counted.count)
        # One that proves nothing, then the careful way.
        assert counts == [4] * 30 + [1 + 8] + [4] * 29

    def test_names_of_a_batch_are_locked_together(self, store: Store) -> None:
        store.add_turns(["past the size at which statistics are refreshed"] * 100)
        counts = []
        for size in (64, 128):
            with counted_statements() as counted:
                store.add_turns([{"content": str(index), "bookmark": f"{size}-{index}"} for index in range(size)])
            counts.append(counted.count)
        # Each 64 names more: one statement finds them, four make and log each, and look for its title.
        assert counts[1] - counts[0] == 1 + 4 * 64


class TestOptions:
    def test_shortcuts_are_options(self, store: Store) -> None:
        turn = store.add_turn("a", provider_ptr="p", servers=["s1", "s2"], search=True, tool_mode="auto")
        assert turn.options == {"provider_ptr": "p", "servers": ["s1", "s2"], "search": True, "tool_mode": "auto"}

    def test_shortcuts_win_over_inherited_and_merge_with_the_rest(self, store: Store) -> None:
        turn = store.add_turn("a", inherited={"search": True, "params": {"t": 1}}, search=False)
        assert turn.options == {"search": False, "params": {"t": 1}}

    def test_null_switches_an_inherited_value_off(self, store: Store) -> None:
        """Rule I8, options merge."""
        a = store.add_turn("a", inherited={"params": {"t": 1, "n": 2}, "x": 1})
        b = store.add_turn("b", continues=a.id, inherited={"params": {"t": None}, "x": None})
        assert b.options == {"params": {"n": 2}}
        assert b.meta.inherited == {"params": {"t": None}, "x": None}

    def test_options_are_resolved_when_asked_and_the_append_walks_nothing(self, store: Store) -> None:
        """Rule R12, options on demand."""
        turn = store.add_turn("a", inherited={"x": 1})
        with counted_statements() as counted:
            turn = store.add_turn("b", continues=turn.id)
            appended = counted.count
            assert turn.options == {"x": 1}
        assert counted.count > appended


class TestIds:
    def test_ids_rise(self, store: Store) -> None:
        ids = [store.add_turn(str(number)).id for number in range(20)]
        ids += [turn.id for turn in store.add_turns(["a"] * 20)]
        assert ids == sorted(set(ids))

    def test_ids_rise_also_after_the_clock_went_back(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rule R11, names for turns."""
        before = store.add_turn("before")
        an_hour_ago = time.time_ns() - 3_600 * 10**9
        monkeypatch.setattr(time, "time_ns", lambda: an_hour_ago)
        after = [store.add_turn("after").id for _ in range(3)]
        assert [before.id, *after] == sorted({before.id, *after})

    def test_an_id_tells_its_time(self, store: Store) -> None:
        before = time.time_ns() // 1_000_000
        turn = store.add_turn("a")
        assert before <= turn.time.timestamp() * 1000 <= time.time_ns() // 1_000_000 + 1

    def test_commit_order_is_not_the_order_of_ids(self, durable_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rule R1, commit order: two writers' clocks differ; the order of the turns is the order of their commits."""
        ahead, behind = durable_place.open(), durable_place.open()
        first = ahead.add_turn("first")
        earlier = time.time_ns() - 3_600 * 10**9
        monkeypatch.setattr(time, "time_ns", lambda: earlier)
        second = behind.add_turn("second")
        assert second.id < first.id
        assert [turn.id for turn in ahead.turns()] == [first.id, second.id]
        assert ahead.get("@").id == second.id


class TestLimits:
    def test_a_payload_at_the_limit_is_stored_and_one_past_it_refused(self, place: Place) -> None:
        store = place.open(payload_limit_bytes=100)
        text = "x" * (100 - len(b'[{"type":"text","text":""}]'))
        assert len(store.payload(store.add_turn(text).id)) == 100
        with unchanged(store), pytest.raises(TooLarge, match="101 bytes and the limit is 100") as refused:
            store.add_turn(text + "x")
        assert (refused.value.size_bytes, refused.value.limit_bytes) == (101, 100)

    @pytest.mark.parametrize("argument", ["meta", "inherited"])
    def test_records_have_a_limit_of_their_own(self, store: Store, argument: str) -> None:
        fits = {"k": "x" * (MAPPING_LIMIT_BYTES - len('{"k":""}'))}
        turn = store.add_turn("a", **{argument: fits})
        assert (turn.meta.app or turn.meta.inherited) == fits
        with unchanged(store), pytest.raises(TooLarge, match=argument):
            store.add_turn("a", **{argument: {"k": fits["k"] + "x"}})


def test_a_store_is_a_context_manager_and_reopens_with_all_it_held(file_place: FilePlace) -> None:
    with file_place.open() as store:
        turn = store.add_turn("kept", bookmark="main")
    again = file_place.open(create=False)
    assert again.get("main").to_dict() == turn.to_dict()
    assert again.verify().problems == ()


def test_a_document_block_inside_a_message_stays_in_the_message(store: Store) -> None:
    block = {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    [read] = store.blocks(store.add_turn([block]).id)
    assert isinstance(read, Document)
    assert read.source.media_type == "image/png"


class TestWithoutCarrying:
    """``moves=False``: no name is carried along (rule R2, one name moves)."""

    def test_a_name_that_is_continued_stays(self, store: Store) -> None:
        first = store.add_turn("a", bookmark="main")
        added = [
            store.add_turn("b", continues="main", moves=False),
            store.add_turn("b", continues=first.id, moves=False),
            store.add_document(b"b", continues="main", moves=False),
            *store.add_turns([{"content": "b", "continues": "main"}, {"content": "c", "continues": 0}], moves=False),
            *store.add_turns([{"content": "b", "continues": "main", "moves": False}]),
        ]
        assert store.get("main") == first
        assert {turn.meta.bookmark for turn in added} == {None}
        assert len(store.bookmarks.history("main")) == 1

    def test_one_that_is_given_moves_all_the_same(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        assert store.add_turn("b", continues="main", bookmark="main", moves=False) == store.get("main")

    def test_the_next_turn_may_carry_it_again(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        stored = store.add_turns(
            [{"content": "b", "continues": "main", "moves": False}, {"content": "c", "continues": "main"}]
        )
        assert store.get("main") == stored[1]
        assert stored[1].meta.continues == (store.get("main@{1}").id,)


class TestABatchOfTurnsOfEveryKind:
    def test_keeps_what_each_has_beside_its_blocks(self, store: Store) -> None:
        """Turns that have nothing but blocks are stored by a statement of their own, others by one with all columns."""
        added = store.add_turns(
            [
                {"content": "bare"},
                {"content": "said", "said_at": 1_000_000, "key": "k", "continues": 0},
                {"content": "meta", "meta": {"a": 1}, "continues": 1},
                {"content": "cached", "cache": True, "attributes": {"speaker": "Ada"}, "continues": 2},
            ]
        )
        alone = [store.add_turn("bare", continues=added[-1].id), store.add_turn("meta", meta={"a": 1})]
        assert [each.meta.app for each in (*added, *alone)] == [{}, {}, {"a": 1}, {}, {}, {"a": 1}]
        assert [each.meta.key for each in added] == [None, "k", None, None]
        assert [each.meta.attributes.speaker for each in added] == [None, None, None, "Ada"]
        assert store.verify().problems == ()
