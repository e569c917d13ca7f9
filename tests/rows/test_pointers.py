"""Names for what providers are asked with: pointers, and the tools of servers. Each name keeps its history."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headish import Store
from headish.errors import (
    CorruptRecord,
    InvalidAddress,
    InvalidArgument,
    InvalidContent,
    InvalidName,
    TooLarge,
    UnknownPointer,
    UnknownServer,
)
from headish.providers.pointers import Pointer
from headish.values.limits import INLINE_BYTES
from support.insides import dump, run_sql, unchanged
from support.places import FilePlace, MemoryPlace, Place

KEY = "sk-0123456789abcdefghij"
READ = {"name": "read", "description": "Read a file", "inputSchema": {"type": "object", "x-order": ["b", "a"]}}


def numbers(store: Store, kind: str, name: str) -> list[int]:
    """The numbers of all that ever held under a name."""
    return [row[3] for row in dump(store)["definition"] if (row[1], row[2]) == (kind, name.encode())]


class TestPointers:
    def test_a_name_points_at_what_it_was_given(self, store: Store) -> None:
        made = store.pointers.set(
            "milli", "openai/org/model:free", params={"max_tokens": 5}, base_url="http://127.0.0.1:1/v1/", key_env="K"
        )
        wanted = Pointer("openai", "org/model:free", {"max_tokens": 5}, "http://127.0.0.1:1/v1", "K")
        assert made == store.pointers["milli"] == wanted
        assert str(made) == "openai/org/model:free"
        [listed] = store.pointers.list()
        assert (listed.name, listed.pointer) == ("milli", wanted)

    def test_names_are_listed_in_order_and_taken_as_they_are(self, store: Store) -> None:
        for name in ("ü", "Milli", "milli", "a.b/c"):
            store.pointers.set(name, "openai/m")
        assert [each.name for each in store.pointers.list()] == ["Milli", "a.b/c", "milli", "ü"]

    def test_what_it_pointed_at_stays_in_its_history(self, store: Store) -> None:
        store.pointers.set("milli", "openai/one")
        store.pointers.set("milli", "openai/two")
        store.pointers.set("milli", "openai/two")  # says nothing new
        store.pointers.remove("milli")
        store.pointers.set("milli", "openai/one")
        history = store.pointers.history("milli")
        assert [None if each.pointer is None else each.pointer.model for each in history] == ["one", None, "two", "one"]
        assert [each.time for each in history] == sorted((each.time for each in history), reverse=True)
        assert numbers(store, "pointer", "milli") == [1, 2, 3, 4]

    def test_equal_large_pointers_are_stored_once(self, store: Store) -> None:
        for name in ("a", "b"):
            store.pointers.set(name, "openai/m", params={"effort": "low", "long": "x" * INLINE_BYTES})
            store.pointers.set(f"small-{name}", "openai/m")
        assert len(dump(store)["payload"]) == 1
        assert store.pointers["a"].params["long"] == "x" * INLINE_BYTES
        assert store.verify().problems == ()

    def test_one_that_was_removed_is_unknown(self, store: Store) -> None:
        store.pointers.set("milli", "openai/m")
        store.pointers.remove("milli")
        assert store.pointers.list() == []
        with pytest.raises(UnknownPointer, match="headish ptr set milli"):
            store.pointers["milli"]
        with unchanged(store), pytest.raises(UnknownPointer):
            store.pointers.remove("milli")

    def test_one_that_never_was_has_no_history(self, store: Store) -> None:
        with unchanged(store):
            for find in (store.pointers.__getitem__, store.pointers.history, store.pointers.remove):
                with pytest.raises(UnknownPointer):
                    find("milli")

    def test_spaces_do_not_see_each_others(self, durable_place: Place) -> None:
        one, other = durable_place.open("one"), durable_place.open("other")
        one.pointers.set("milli", "openai/m")
        one.tools.set("files", [READ])
        assert (other.pointers.list(), other.tools.list()) == ([], {})
        with unchanged(other):
            for find in (other.pointers.__getitem__, other.pointers.history, other.pointers.remove):
                with pytest.raises(UnknownPointer):
                    find("milli")
            with pytest.raises(UnknownServer):
                other.tools["files"]
        other.pointers.set("milli", "openai/other")
        assert one.pointers["milli"].model == "m"

    def test_those_that_set_a_name_at_the_same_time_follow_one_another(self, durable_place: Place) -> None:
        stores = [durable_place.open() for _ in range(6)]

        def work(number: int) -> None:
            for turn in range(4):
                stores[number].pointers.set("milli", f"openai/{number}-{turn}")

        with ThreadPoolExecutor(len(stores)) as pool:
            list(pool.map(work, range(len(stores))))
        assert numbers(stores[0], "pointer", "milli") == list(range(1, 25))
        models = [each.pointer.model for each in stores[0].pointers.history("milli") if each.pointer is not None]
        assert sorted(models) == sorted(f"{number}-{turn}" for number in range(6) for turn in range(4))
        for number in range(6):
            own = [model for model in models if model.startswith(f"{number}-")]
            assert own == sorted(own, reverse=True)
        assert stores[0].pointers["milli"].model == models[0]

    def test_a_stored_pointer_that_was_altered_is_an_error_that_names_it(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.pointers.set("milli", "openai/m")
        run_sql(store, "UPDATE definition SET data = CAST('{}' AS BLOB)")
        for find in (store.pointers.__getitem__, store.pointers.history):
            with pytest.raises(CorruptRecord, match=r"^the provider pointer 'milli': "):
                find("milli")


class TestWhatIsNoPointer:
    @pytest.mark.parametrize("target", ["", "openai", "openai/", "/m", "nobody/m", "openai m", None, 3])
    def test_what_is_not_provider_and_model_is_refused(self, store: Store, target: Any) -> None:
        with unchanged(store), pytest.raises(InvalidArgument, match="is not PROVIDER/MODEL with one of anthropic, "):
            store.pointers.set("milli", target)

    @pytest.mark.parametrize("model", ["a b", "a\n", "\x1b[31m", "m" * 513])
    def test_so_is_what_no_model_is_named(self, store: Store, model: str) -> None:
        with unchanged(store), pytest.raises(InvalidArgument, match="is not the name of a model"):
            store.pointers.set("milli", f"openai/{model}")

    @pytest.mark.parametrize("name", ["", "a b", "-a", "a~1", "@", "0" * 25])
    def test_names_follow_the_rules_of_bookmarks(self, store: Store, name: str) -> None:
        with unchanged(store), pytest.raises(InvalidName, match="cannot be the name of a provider pointer"):
            store.pointers.set(name, "openai/m")

    @pytest.mark.parametrize(
        "given",
        [
            {"params": {"api_key": "x"}},
            {"params": {"headers": [{"Authorization": "x"}]}},
            {"params": {"X-Goog-Api-Key": "x"}},
            {"params": {"a": {"password": "x"}}},
            {"params": {"user": f"it is {KEY}"}},
            {"params": {"list": [1, [KEY]]}},
            {"key_env": KEY},
            {"key_env": "AIzaSyA1234567890123456789012345678901"},
            {"key_env": "MY KEY"},
            {"key_env": ""},
            {"key_env": "keyring:"},
            {"base_url": f"https://127.0.0.1/{KEY}"},
        ],
    )
    def test_what_looks_like_a_key_is_refused_and_not_repeated(self, store: Store, given: dict[str, Any]) -> None:
        with unchanged(store), pytest.raises(InvalidArgument) as raised:
            store.pointers.set("milli", "openai/m", **given)
        assert not [part for part in (KEY[:8], "AIza") if part in str(raised.value)]

    @pytest.mark.parametrize(
        "url",
        [
            f"https://me:{KEY}@127.0.0.1",
            f"https://{KEY}@127.0.0.1",
            f"ftp://me:{KEY}@127.0.0.1",
            f"https://127.0.0.1/v1?key={KEY}",
            f"https://127.0.0.1/v1#{KEY}",
            "127.0.0.1:11434",
            "http://",
            "http://[::1",
            "http://127.0.0.1:99999",
            "http://a b/",
            "",
        ],
    )
    def test_a_url_that_cannot_be_called_or_holds_a_password_is_refused(self, store: Store, url: str) -> None:
        with unchanged(store), pytest.raises(InvalidAddress) as raised:
            store.pointers.set("milli", "openai/m", base_url=url)
        assert KEY not in str(raised.value)

    @pytest.mark.parametrize("params", [{"a": float("nan")}, {"a": "\ud800"}, {"a": object()}, {1: 2}])
    def test_parameters_that_cannot_be_kept_are_refused(self, store: Store, params: Any) -> None:
        with unchanged(store), pytest.raises(InvalidContent, match="the parameters of a pointer"):
            store.pointers.set("milli", "openai/m", params=params)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("Authorization", "x"),
            ("X-Api-Key", "x"),
            ("cookie", "a=b"),
            ("x-amz-security-token", "x"),
            ("Helicone-Auth", "x"),
            ("cf-access-client-secret", "x"),
            ("host", "evil.example"),
            ("Content-Length", "3"),
            ("x-team", KEY),
            ("x-team", f"Bearer {KEY}"),
            ("x-team", "eyJhbGciOiJub25lIn0.eyJhIjoxfQ."),
            ("x-team", "0123456789abcdef0123456789abcdef"),
            ("x-team", "AbCdEf0123456789AbCdEf0123456789"),
            ("x-team", "a\r\nAuthorization: b"),
            ("x-team", "a\x00b"),
            ("x-team", "é"),
            ("x team", "a"),
            ("x-team:", "a"),
            ("", "a"),
        ],
    )
    def test_a_header_with_a_key_or_that_hides_another_is_refused_by_name(
        self, store: Store, name: str, value: str
    ) -> None:
        with unchanged(store), pytest.raises(InvalidArgument) as raised:
            store.pointers.set("milli", "openai/m", headers={name: value})
        assert "header" in str(raised.value)
        assert len(value) < 4 or value not in str(raised.value)

    def test_headers_that_carry_no_key_are_kept_in_lower_case(self, store: Store) -> None:
        given = {
            "Anthropic-Beta": "context-1m-2025-08-07,files-api-2025-04-14",
            "OpenAI-Organization": "org-AbCdEf0123456789AbCdEf01",
            "x-tenant": "0a1b2c3d-0000-1111-2222-333344445555",
            "x-empty": "",
        }
        store.pointers.set("milli", "openai/m", headers=given)
        assert store.pointers["milli"].headers == {name.lower(): value for name, value in given.items()}

    def test_a_cloud_is_kept_with_what_it_needs(self, store: Store) -> None:
        made = store.pointers.set("v", "gemini/g", cloud="vertex", region="eu", project="p")
        assert store.pointers["v"] == made
        assert made.to_dict()["cloud"] == {"name": "vertex", "region": "eu", "project": "p"}
        assert store.pointers.url("v", stream=False).endswith(
            "/locations/eu/publishers/google/models/g:generateContent"
        )
        store.pointers.set("v", "openai/m")
        assert store.pointers.url("v") == "https://api.openai.com/v1/chat/completions"
        with unchanged(store), pytest.raises(InvalidArgument, match="needs a project"):
            store.pointers.set("v", "gemini/g", cloud="vertex", region="eu")

    def test_so_are_more_than_a_record_holds(self, store: Store) -> None:
        with unchanged(store), pytest.raises(TooLarge):
            store.pointers.set("milli", "openai/m", params={"a": "x" * 2_000_000})

    def test_a_keyring_can_be_named_and_so_can_tokens_to_count(self, store: Store) -> None:
        store.pointers.set("milli", "openai/m", key_env="keyring:me", params={"max_tokens": 1, "prompt_cache_key": "a"})
        assert store.pointers["milli"].key_env == "keyring:me"


class TestTools:
    def test_a_list_is_kept_as_it_is_and_its_hash_is_given(self, store: Store) -> None:
        hash = store.tools.set("files", [READ])
        assert store.tools["files"] == [READ]
        assert list(store.tools["files"][0]["inputSchema"]) == ["type", "x-order"]
        assert hash == store.tools.set("copy", {"tools": [READ], "nextCursor": None})
        assert list(store.tools.list()) == ["copy", "files"]

    def test_a_server_may_offer_nothing(self, store: Store) -> None:
        store.tools.set("files", [])
        assert (store.tools["files"], store.tools.list()) == ([], {"files": []})

    def test_a_new_list_takes_the_place_of_the_old_one(self, store: Store) -> None:
        store.tools.set("files", [READ])
        store.tools.set("files", [{"name": "write"}])
        assert [tool["name"] for tool in store.tools["files"]] == ["write"]
        store.tools.remove("files")
        assert numbers(store, "tools", "files") == [1, 2, 3]
        with pytest.raises(UnknownServer, match="headish tools set files FILE"):
            store.tools["files"]
        with unchanged(store), pytest.raises(UnknownServer):
            store.tools.remove("files")

    def test_pointers_and_servers_have_names_of_their_own(self, store: Store) -> None:
        store.pointers.set("same", "openai/m")
        store.tools.set("same", [READ])
        store.pointers.remove("same")
        assert store.tools["same"] == [READ]

    @pytest.mark.parametrize("tools", [3, "read", None, {}, {"tools": "read"}, [1], [{}], [{"name": 1}], [READ, READ]])
    def test_what_is_no_list_of_tools_is_refused(self, store: Store, tools: Any) -> None:
        with unchanged(store), pytest.raises((InvalidArgument, InvalidContent)):
            store.tools.set("files", tools)

    @pytest.mark.parametrize("server", ["a___b", "a_", "", "a b"])
    def test_a_server_that_could_not_be_told_from_its_tools_is_refused(self, store: Store, server: str) -> None:
        with unchanged(store), pytest.raises(InvalidName, match="cannot be the name of a server"):
            store.tools.set(server, [READ])

    def test_a_list_too_large_for_a_turn_is_refused(self) -> None:
        place = MemoryPlace()
        store = place.open(payload_limit_bytes=1000)
        with unchanged(store), pytest.raises(TooLarge, match="the tools of a server"):
            store.tools.set("files", [{"name": "read", "description": "x" * 1000}])
        place.close()
