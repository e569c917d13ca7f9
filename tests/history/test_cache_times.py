"""A cache flag may say for how long: sealed, never digested, and the same wherever the turn goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store, restore
from headish.errors import InvalidArgument, Unsupported
from headish.providers import prepare_request
from headish.values.blocks import Text
from headish.values.messages import ContextWindow, Message
from support.insides import run_sql
from support.places import Place

HOUR = {"type": "ephemeral", "ttl": "1h"}


def marks(body: dict[str, Any]) -> list[Any]:
    """The mark of each part that has one, in the order of a request."""
    parts = [*body.get("system", []), *(part for message in body["messages"] for part in message["content"])]
    return [part["cache_control"] for part in parts if "cache_control" in part]


def said(*flags: Any) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[index % 2], "content": f"t{index}", "cache": flag}
        for index, flag in enumerate(flags)
    ]


class TestWhatIsStored:
    def test_the_time_is_shown_wherever_the_flag_is(self, store: Store) -> None:
        turn = store.add_turn("Hi", cache="1h", bookmark="main")
        assert (turn.meta.cache, turn.meta.to_dict()["cache"]) == ("1h", "1h")
        assert "cache_ttl" not in turn.meta.to_dict()
        assert store.get("main").meta == turn.meta
        assert store.resolve("main").messages[0].cache == "1h"
        assert store.thread("main")[0].to_dict()["cache"] == "1h"
        assert json.loads(store.resolve("main").to_json())["messages"][0]["cache"] == "1h"

    def test_words_are_the_same_whatever_the_flag_says(self, store: Store) -> None:
        turns = [store.add_turn("Hi", cache=flag) for flag in (False, True, "5m", "1h")]
        assert len({turn.digest for turn in turns}) == 1
        assert [turn.meta.cache for turn in turns] == [False, True, "5m", "1h"]
        assert [turn.meta.system for turn in turns] == [{}, {}, {"cache_ttl": "5m"}, {"cache_ttl": "1h"}]

    @pytest.mark.parametrize("flag", ["2h", "", "1H", "true"])
    def test_a_time_that_no_provider_has_is_refused(self, store: Store, flag: str) -> None:
        with pytest.raises(InvalidArgument, match="cache takes true, false, 5m or 1h"):
            store.add_turn("Hi", cache=flag)
        assert list(store.turns()) == []

    def test_a_document_has_one_beside_its_name(self, store: Store) -> None:
        turn = store.add_document(b"a,b", name="t.csv", content_type="text/csv", cache="1h")
        assert (turn.meta.cache, turn.meta.document_name) == ("1h", "t.csv")

    def test_what_an_hour_was_altered_into_is_found(self, tmp_path: Path) -> None:
        with Store.open(tmp_path / "a.db", create=True) as store:
            store.add_turn("Hi", cache="1h")
            assert not store.verify().problems
            run_sql(store, """UPDATE turn SET system = CAST('{"cache_ttl":"2h"}' AS BLOB)""")
            found = " ".join(problem.what for problem in store.verify().problems)
            assert "its cache flag has an unknown time" in found
            assert "its seal disagrees" in found


class TestWhereItGoes:
    def test_a_copy_an_edit_and_a_version_keep_it(self, place: Place) -> None:
        with place.fresh() as store:
            first = store.add_turn("Hi", cache="1h", bookmark="main")
            store.add_turn("Hello", role="assistant", cache="5m", continues="main")
            store.edit(first.id, "Hi!")
            assert [message.cache for message in store.resolve("main").messages] == ["1h", "5m"]
            there = Database(store._database).store(f"to-{store.space}", create=True)
            store.copy_to(there.space, ["main"])
            assert [message.cache for message in there.resolve("main").messages] == ["1h", "5m"]
            assert not there.verify().problems

    def test_a_backup_brings_it_back(self, tmp_path: Path) -> None:
        with Store.open(tmp_path / "a.db", create=True) as store:
            store.add_turn("Hi", cache="1h", bookmark="main")
            store.backup(tmp_path / "a.backup")
        restore(tmp_path / "a.backup", tmp_path / "b.db")
        with Store.open(tmp_path / "b.db") as store:
            assert store.resolve("main").messages[0].cache == "1h"

    def test_records_and_a_recorded_list_say_it_again(self, store: Store, tmp_path: Path) -> None:
        store.record([{"role": "user", "content": "Hi", "cache": "1h"}], bookmark="main")
        assert store.resolve("main").messages[0].cache == "1h"
        records = tmp_path / "thread.json"
        records.write_text(json.dumps([each.to_dict() for each in store.thread("main")]), "utf-8")
        with Store.open(tmp_path / "other.db", create=True) as other:
            other.import_file(records, format="records")
            assert other.resolve().messages[0].cache == "1h"

    def test_a_clients_mark_is_read_with_its_time_and_comes_out_equal(self, store: Store) -> None:
        given = [
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": HOUR}]},
            {"role": "assistant", "content": [{"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]},
        ]
        store.record(given, bookmark="main", form="anthropic")
        assert [message.cache for message in store.resolve("main").messages] == ["1h", True]
        assert store.messages("main", form="anthropic") == given
        body = prepare_request("anthropic", store.resolve("main")).body
        assert marks(body) == [HOUR, {"type": "ephemeral"}]

    def test_what_is_erased_keeps_it_until_its_meta_goes(self, store: Store) -> None:
        first = store.add_turn("Hi", cache="1h", bookmark="main")
        store.erase([first.id], reason="asked")
        assert store.get(first.id).meta.cache == "1h"
        assert not store.verify().problems
        second = store.add_turn("Ho", cache="1h", bookmark="other")
        store.erase([second.id], reason="asked", meta=True)
        assert store.get(second.id).meta.cache is True
        assert not store.verify().problems


class TestWhatIsSent:
    @pytest.mark.parametrize(
        ("flags", "ttl", "sent"),
        [
            (("1h", True), None, ["1h", None]),
            (("1h", "5m"), None, ["1h", "5m"]),
            (("1h", "5m", True), "1h", ["1h", "1h", "1h"]),
            ((True, "5m"), "1h", ["1h", "5m"]),
            ((True, "5m", "1h", True), None, ["1h", "1h", "1h", None]),
            ((True, True, "1h", True, "5m"), None, ["1h", "1h", None, "5m"]),
        ],
    )
    def test_no_time_stands_before_a_longer_one(self, flags: Any, ttl: str | None, sent: list[str | None]) -> None:
        options = {"params": {} if ttl is None else {"cache_ttl": ttl}}
        request = prepare_request("anthropic", {"messages": said(*flags), "options": options})
        assert [mark.get("ttl") for mark in marks(request.body)] == sent

    def test_a_flag_that_is_lengthened_is_said(self) -> None:
        request = prepare_request("anthropic", {"messages": said(True, "1h"), "options": {}})
        what = "1 cache flag before one of 1h: sent as 1h, since none may be shorter"
        assert what in [note.what for note in request.notes]

    def test_the_instructions_stand_before_the_messages(self) -> None:
        window = [*said("1h"), {"role": "system", "content": "Be brief.", "cache": True}]
        body = prepare_request("anthropic", {"messages": window, "options": {}}).body
        assert marks(body) == [HOUR, HOUR]

    def test_a_time_that_nobody_has_is_refused_by_name(self) -> None:
        window = ContextWindow((Message(role="user", content=(Text("Hi"),), cache="2h"),), {})
        with pytest.raises(Unsupported, match="a cache flag of 2h: it is 5m or 1h"):
            prepare_request("anthropic", window)

    def test_others_pass_over_it_as_over_any_flag(self) -> None:
        for provider in ("openai", "openai_responses", "gemini"):
            request = prepare_request(provider, {"messages": said("1h", False, False), "options": {}})
            assert any("cache flag is not sent" in note.what for note in request.notes)
        body = prepare_request("openai", {"messages": said("1h"), "options": {}}, cache_breakpoints=True).body
        assert "1h" not in json.dumps(body)
