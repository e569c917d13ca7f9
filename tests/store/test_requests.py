"""Requests out of the store: who is asked, with which tools, and which turns each part came from."""

from __future__ import annotations

import pytest

from headish import Store
from headish.errors import InvalidArgument, UnknownFormat, UnknownPointer, UnknownServer, Unsupported
from support.insides import counted_statements, unchanged

READ = {"name": "read", "description": "Read a file", "inputSchema": {"type": "object"}, "annotations": {}}


@pytest.fixture
def asked(store: Store) -> Store:
    """A store with a pointer, the tools of a server, and a thread that names both."""
    store.pointers.set("milli", "anthropic/small-1", params={"max_tokens": 5, "stop_sequences": ["END"]})
    store.tools.set("files", [READ])
    store.add_turn("Be brief.", role="system", bookmark="main", inherited={"params": {"max_tokens": 7}})
    store.add_turn("Read a.txt", continues="main", provider_ptr="milli", servers=["files"])
    return store


class TestWhoIsAsked:
    def test_the_threads_pointer_says_it(self, asked: Store) -> None:
        prepared = asked.request("main")
        assert (prepared.provider, prepared.model, prepared.ptr) == ("anthropic", "small-1", "milli")
        assert prepared.body["model"] == "small-1"

    def test_the_threads_parameters_win_over_the_pointers(self, asked: Store) -> None:
        body = asked.request("main").body
        assert (body["max_tokens"], body["stop_sequences"]) == (7, ["END"])

    def test_a_pointer_is_resolved_when_it_is_asked(self, asked: Store) -> None:
        asked.pointers.set("milli", "anthropic/small-2")
        assert asked.request("main").model == "small-2"

    def test_another_pointer_can_be_named(self, asked: Store) -> None:
        asked.pointers.set("kilo", "anthropic/large-1", base_url="http://127.0.0.1:1/", key_env="KILO_KEY")
        prepared = asked.request("main", ptr="kilo")
        assert (prepared.model, prepared.ptr) == ("large-1", "kilo")
        assert (prepared.base_url, prepared.key_env) == ("http://127.0.0.1:1", "KILO_KEY")

    def test_a_provider_by_name_needs_no_pointer_and_no_model(self, store: Store) -> None:
        store.add_turn("Hi", bookmark="main", provider_ptr="never-set")
        prepared = store.request("main", "anthropic")
        assert (prepared.model, prepared.ptr, "model" in prepared.body) == (None, None, False)

    def test_a_provider_by_name_uses_the_threads_pointer_if_that_is_its(self, asked: Store) -> None:
        assert asked.request("main", "anthropic").model == "small-1"
        other = asked.request("main", "openai")
        assert (other.model, other.ptr) == (None, None)

    def test_nobody_is_an_error_that_says_what_to_do(self, store: Store) -> None:
        store.add_turn("Hi", bookmark="main")
        with pytest.raises(UnknownPointer, match="no provider is named"):
            store.request("main")
        store.add_turn("Hi", bookmark="main", provider_ptr="gone", force=True)
        with pytest.raises(UnknownPointer, match="'headish ptr set gone PROVIDER/MODEL'"):
            store.request("main")

    def test_an_unknown_provider_is_refused_before_anything_is_read(self, store: Store) -> None:
        with pytest.raises(UnknownFormat, match="unknown provider 'nobody': known are anthropic"):
            store.request("main", "nobody")


class TestTools:
    def test_a_threads_servers_select_them_by_server_and_name(self, asked: Store) -> None:
        [tool] = asked.request("main").body["tools"]
        assert tool["name"] == "files___read"
        assert "annotations" not in tool

    def test_given_tools_stand_behind_them(self, asked: Store) -> None:
        names = [tool["name"] for tool in asked.request("main", tools=[{"name": "clock"}]).body["tools"]]
        assert names == ["files___read", "clock"]

    def test_a_server_without_tools_is_named(self, store: Store) -> None:
        store.add_turn("Hi", bookmark="main", servers=["web"])
        with pytest.raises(UnknownServer, match="'headish tools set web FILE' adds them"):
            store.request("main", "anthropic")

    @pytest.mark.parametrize("servers", ["files", [1], {"files": True}])
    def test_an_option_of_another_kind_is_refused(self, store: Store, servers: object) -> None:
        store.add_turn("Hi", bookmark="main", inherited={"servers": servers})
        with pytest.raises(InvalidArgument, match="it is a list of names"):
            store.request("main", "anthropic")

    def test_a_new_list_takes_the_place_of_the_old_one(self, asked: Store) -> None:
        assert asked.tools.set("files", {"tools": [READ, {**READ, "name": "write"}]}) != asked.tools.set("x", [READ])
        assert [tool["name"] for tool in asked.request("main").body["tools"]] == ["files___read", "files___write"]


class TestWhatItSaysOfItself:
    def test_each_message_and_option_names_its_turns(self, asked: Store) -> None:
        system, user = (record.id for record in asked.thread("main"))
        prepared = asked.request("main")
        assert [(origin.place, origin.turns) for origin in prepared.origins] == [
            ("system[0]", (system,)),
            ("messages[0]", (user,)),
        ]
        assert prepared.options == {"params.max_tokens": system, "provider_ptr": user, "servers": user}
        assert (prepared.turns, prepared.bookmark) == ((user,), "main")

    def test_messages_that_are_joined_name_all_their_turns(self, store: Store) -> None:
        first = store.add_turn("One.", bookmark="main")
        second = store.add_turn("Two.", continues="main")
        [origin] = store.request("main", "anthropic").origins
        assert origin.turns == (first.id, second.id)

    def test_a_result_names_its_own_turn(self, store: Store) -> None:
        store.add_turn("Go", bookmark="main")
        calls = [{"type": "tool_use", "name": "f", "id": "c1", "input": {}}]
        call = store.add_turn(calls, role="assistant", continues="main")  # type: ignore[arg-type]
        block = {"type": "tool_result", "tool_use_id": "c1", "content": "4"}
        result = store.add_turn([block], role="tool", continues="main")
        origins = [origin.turns for origin in store.request("main", "anthropic").origins]
        assert origins[1:] == [(call.id,), (result.id,)]

    def test_an_option_that_is_switched_off_and_set_again_names_the_last_turn(self, store: Store) -> None:
        store.add_turn("a", bookmark="main", inherited={"params": {"max_tokens": 1, "effort": "low"}, "search": True})
        store.add_turn("b", continues="main", inherited={"params": None, "search": None})
        last = store.add_turn("c", continues="main", inherited={"params": {"max_tokens": 2}})
        assert store.request("main", "anthropic").options == {"params.max_tokens": last.id}

    def test_several_heads_are_asked_from_as_if_one_turn_continued_them(self, store: Store) -> None:
        root = store.add_turn("root", bookmark="main")
        one = store.add_turn("one", continues=root.id)
        other = store.add_turn("other", continues=root.id)
        prepared = store.request([one.id, other.id], "anthropic")
        texts = [block["text"] for block in prepared.body["messages"][0]["content"]]
        assert texts == ["root", "one", "other"]
        assert prepared.turns == (one.id, other.id)


class TestLint:
    def test_it_tells_all_that_would_be_refused_and_repaired_and_changes_nothing(self, store: Store) -> None:
        store.tools.set("files", [READ])
        store.add_turn("Hi", bookmark="main", servers=["files"], inherited={"params": {"top_k": 1, "seed": 2}})
        store.add_turn([{"type": "tool_use", "name": "f", "input": {}}], role="assistant", continues="main")
        with unchanged(store):
            findings = store.lint("main", "anthropic")
        assert [(finding.kind, finding.what) for finding in findings][:2] == [
            ("refused", "params.top_k: its requests have no such parameter"),
            ("refused", "params.seed: its requests have no such parameter"),
        ]
        assert {finding.kind for finding in findings[2:]} == {"note"}
        with pytest.raises(Unsupported, match="top_k"):
            store.request("main", "anthropic")

    def test_a_request_reads_a_handful_of_times_however_long_the_thread(self, asked: Store) -> None:
        counts = set()
        for length in (0, 50, 200):
            asked.add_turns({"content": f"{length} {index}", "continues": "main"} for index in range(length))
            with counted_statements() as counted:
                asked.request("main")
            counts.add(counted.count)
        assert counts == {8}


class TestWhichTurnSetAnOption:
    def test_a_key_with_a_dot_is_no_path(self, store: Store) -> None:
        first = store.add_turn("Hi", bookmark="main", inherited={"a.b": 1})
        second = store.add_turn("Hi", continues="main", inherited={"a": {"b": 2}, 'say "a"': {"": 3}})
        origins = store.request("main", "anthropic").options
        assert origins == {'"a.b"': first.id, "a.b": second.id, r'"say \"a\"".""': second.id}

    def test_a_value_that_replaces_a_record_leaves_its_namesake_alone(self, store: Store) -> None:
        first = store.add_turn("Hi", bookmark="main", inherited={"a.b": 1, "a": {"b": 2}})
        second = store.add_turn("Hi", continues="main", inherited={"a": 5})
        assert store.request("main", "anthropic").options == {'"a.b"': first.id, "a": second.id}
