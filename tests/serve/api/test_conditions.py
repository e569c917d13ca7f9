"""ETags, conditions and keys over HTTP: from several clients at once, and across the death of a server."""

from __future__ import annotations

import multiprocessing
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from headish import Database
from headish.serve.access.settings import WebSettings
from headish.serve.web.running import run_web
from support.places import Place
from support.serving import Served, serving

pytestmark = pytest.mark.slow
API = "/api/v1"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder / "talk.db", folder / "state") as made:
        yield made


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as made:
        yield made


def get(client: httpx.Client, verb: str, tags: Any = None, **arguments: Any) -> httpx.Response:
    headers = [("If-None-Match", each) for each in (tags if isinstance(tags, list) else [tags]) if each is not None]
    return client.get(f"{API}/{verb}", params=arguments, headers=headers)


def post(client: httpx.Client, verb: str, arguments: dict[str, Any], *headers: tuple[str, str]) -> httpx.Response:
    return client.post(f"{API}/{verb}", json=arguments, headers=list(headers))


def keyed(client: httpx.Client, content: str, header: str, **further: Any) -> httpx.Response:
    return post(client, "add_turn", {"content": content, **further}, ("Idempotency-Key", header))


class TestETags:
    def test_every_way_to_say_that_one_has_it(self, client: httpx.Client) -> None:
        turn = post(client, "add_turn", {"content": "tagged", "bookmark": "tags"}).json()
        tag = get(client, "get", headish="tags").headers["etag"]
        assert tag == f'"{turn["seal"]}"'
        for told in (tag, f"W/{tag}", f'"x", W/"y" , {tag}', "*", ['"x"', tag], [tag, '"x"']):
            answer = get(client, "get", told, headish="tags")
            assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag), told
        for told in ('"x"', tag.strip('"'), tag[:-2] + '"', "", ",", '"x", "y"'):
            assert get(client, "get", told, headish="tags").status_code == 200, told

    def test_a_conversation_that_goes_on_has_another_one(self, client: httpx.Client) -> None:
        """Its revision counts titles and tags, not turns."""
        post(client, "add_turn", {"content": "1", "bookmark": "goes-on"})
        post(client, "conversations/set", {"subject": "goes-on", "title": "One"})
        tag = get(client, "conversations/get", subject="goes-on").headers["etag"]
        assert get(client, "conversations/get", tag, subject="goes-on").status_code == 304
        post(client, "add_turn", {"content": "2", "continues": "goes-on"})
        assert get(client, "conversations/get", tag, subject="goes-on").status_code == 200
        change = {"subject": "goes-on", "title": "Two"}
        assert post(client, "conversations/set", change, ("If-Match", tag)).json()["title"] == "Two"
        assert post(client, "conversations/set", change, ("If-Match", tag)).status_code == 412

    def test_a_conversation_of_which_nothing_is_said_yet_has_one_too(self, client: httpx.Client) -> None:
        post(client, "add_turn", {"content": "1", "bookmark": "unsaid"})
        tag = get(client, "conversations/get", subject="unsaid").headers["etag"]
        first, second = ({"subject": "unsaid", "title": title} for title in ("One", "Two"))
        assert post(client, "conversations/set", first, ("If-Match", tag)).status_code == 200
        assert post(client, "conversations/set", second, ("If-Match", tag)).status_code == 412
        assert get(client, "conversations/get", subject="unsaid").json()["title"] == "One"

    def test_an_object_that_was_removed_and_stored_again_is_another_one(self, client: httpx.Client) -> None:
        named = {"kind": "note", "key": "again"}
        post(client, "objects/put", named | {"data": "YQ=="})
        tag = get(client, "objects/get", **named).headers["etag"]
        post(client, "objects/remove", named)
        assert post(client, "objects/put", named | {"data": "YQ=="}, ("If-Match", tag)).status_code == 412
        post(client, "objects/put", named | {"data": "YmI="})
        assert get(client, "objects/get", tag, **named).status_code == 200

    def test_nobody_learns_by_them_what_is_not_theirs(self, served: Served) -> None:
        with Database.open(served.settings.target) as database:
            database.store("secret").add_turn("s", bookmark="main", key="k")
            tokens = {right: database.access_tokens.add(f"{right}-only", rights=[right]) for right in ("read", "write")}
            gateway = database.access_tokens.add("none", space="secret", rights=["gateway"])
        with served.client(token=tokens["read"]) as reader:
            for tag in ("*", '"x"'):
                for space in ("secret", "nowhere"):
                    answer = get(reader, "get", tag, headish="main", space=space)
                    assert (answer.status_code, answer.json()["code"]) == (404, "UnknownSpace")
            refused = post(reader, "bookmarks/set", {"name": "main", "headish": "@"}, ("If-None-Match", "*"))
            assert (refused.status_code, refused.json()["code"]) == (403, "RightMissing")
        with served.client(token=tokens["write"]) as writer:
            assert get(writer, "get", "*", headish="@").status_code == 403
            stored = keyed(writer, "another", "k").json()
            assert stored["meta"]["key"] == "k"
            assert get(writer, "find", key="k").status_code == 403
        with served.client(token=gateway) as client:
            assert get(client, "get", "*", headish="main").status_code == 403


class TestConditions:
    def test_one_that_a_verb_cannot_promise_is_refused(self, client: httpx.Client) -> None:
        post(client, "add_turn", {"content": "a", "bookmark": "kept"})
        conversation = {"subject": "kept", "title": "T"}
        for verb, arguments, header in (
            ("reindex", {}, ("If-Match", '"x"')),
            ("erase", {"headish": "kept", "reason": "r"}, ("If-Match", '"x"')),
            ("record", {"messages": [{"role": "user", "content": "x"}]}, ("If-None-Match", "*")),
            ("edit", {"headish": "kept", "content": "b"}, ("Idempotency-Key", "e")),
            ("conversations/set", conversation, ("Idempotency-Key", "c")),
            ("objects/put", {"kind": "k", "key": "o", "data": ""}, ("Idempotency-Key", "o")),
            ("erase", {"headish": "kept", "reason": "r"}, ("Idempotency-Key", "r")),
        ):
            answer = post(client, verb, arguments, header)
            assert (answer.status_code, answer.json()["detail"]) == (
                400,
                f"{verb.replace('/', '.')} takes no {header[0]}",
            )
        assert get(client, "text", headish="kept").json() == "a"
        assert post(client, "conversations/set", conversation).json()["key"] is None

    @pytest.mark.parametrize("tag", ["*", 'W/"1"', '"1", "2"', "", '"', '""', '"-1"', '"x"', '"' + "9" * 30 + '"'])
    def test_one_that_cannot_be_meant_is_refused(self, client: httpx.Client, tag: str) -> None:
        named = {"kind": "k", "key": "condition"}
        post(client, "objects/put", named | {"data": "YQ=="})
        answer = post(client, "objects/put", named | {"data": "YmI="}, ("If-Match", tag))
        assert (answer.status_code, answer.json()["code"]) == (400, "InvalidArgument")
        assert get(client, "objects/get", **named).json()["data"] == "YQ=="

    @pytest.mark.parametrize("told", ["{0}, {0}", "{0}, {1}", '"1-{2}"', '"1-{2}', '"1-"', "{0}-", "W/{0}", '"1 "'])
    def test_an_etag_counts_as_a_whole(self, client: httpx.Client, told: str) -> None:
        named = {"kind": "k", "key": f"whole {told}"}
        post(client, "objects/put", named | {"data": "YQ=="})
        tag = get(client, "objects/get", **named).headers["etag"]
        header = told.format(tag, tag.replace("1-", "2-"), "garbage")
        answer = post(client, "objects/put", named | {"data": "YmI="}, ("If-Match", header))
        assert (answer.status_code, answer.json()["code"]) == (400, "InvalidArgument")
        assert get(client, "objects/get", **named).json()["data"] == "YQ=="

    @pytest.mark.parametrize("tag", ['"none"', "none", '"1"', '"none-' + "0" * 64 + '"'])
    def test_what_a_bookmark_names_has_no_revision(self, client: httpx.Client, tag: str) -> None:
        turn = post(client, "add_turn", {"content": "a"}).json()["id"]
        answer = post(client, "bookmarks/set", {"name": "unmade", "headish": turn}, ("If-Match", tag))
        assert (answer.status_code, answer.json()["code"]) == (400, "InvalidArgument")
        assert get(client, "bookmarks/get", name="unmade").status_code == 404

    def test_what_is_said_twice_must_be_the_same(self, client: httpx.Client) -> None:
        turn = post(client, "add_turn", {"content": "a", "bookmark": "twice"}).json()["id"]
        arguments = {"name": "twice", "headish": turn}
        match, absent = ("If-Match", f'"{turn}"'), ("If-None-Match", "*")
        assert post(client, "bookmarks/set", arguments | {"expect": turn}, match).status_code == 200
        for headers in ((match, match), (match, absent), (("If-None-Match", '"x"'),)):
            assert post(client, "bookmarks/set", arguments, *headers).status_code == 400
        assert post(client, "bookmarks/set", arguments | {"expect": turn}, absent).status_code == 400
        assert keyed(client, "b", "in-header", key="in-body").status_code == 400
        assert keyed(client, "b", "in-both", key="in-both").status_code == 200

    def test_of_many_who_change_one_record_at_once_one_does(self, place: Place, tmp_path: Path) -> None:
        store = place.open()
        with serving(place.target, tmp_path / "state", space=store.space) as served, served.client() as client:
            named = {"kind": "k", "key": "raced"}
            post(client, "objects/put", named | {"data": "YQ=="})
            change = named | {"data": "YmI="}
            for _ in range(5):
                match = ("If-Match", get(client, "objects/get", **named).headers["etag"])
                with ThreadPoolExecutor(6) as several:
                    sent = [several.submit(post, client, "objects/put", change, match) for _ in range(6)]
                assert Counter(each.result().status_code for each in sent) == {200: 1, 412: 5}


class TestKeys:
    def test_with_quotes_and_without_it_is_the_same(self, client: httpx.Client) -> None:
        first = keyed(client, "quoted", '"8e03978e"').json()
        assert first["meta"]["key"] == "8e03978e"
        assert keyed(client, "quoted", "8e03978e").json() == first
        assert keyed(client, "quoted", "8e03978e", key="8e03978e").json() == first

    def test_the_longest_is_as_long_as_the_document_says(self, client: httpx.Client) -> None:
        header = client.get(f"{API}/openapi.json").json()["components"]["parameters"]["IdempotencyKey"]
        quoted = f'"{"x" * 1024}"'
        assert header["schema"]["maxLength"] == len(quoted)
        assert keyed(client, "long", quoted).json() == keyed(client, "long", "x" * 1024).json()

    @pytest.mark.parametrize("key", ["", '""', "x" * 1025, f'"{"x" * 1025}"', "x" * 100_000, "\u00e9"])
    def test_one_that_cannot_be_kept_is_refused(self, client: httpx.Client, key: str) -> None:
        before = get(client, "stats").json()["turns"]
        answer = client.post(f"{API}/add_turn", json={"content": "a"}, headers={"Idempotency-Key": key.encode()})
        assert answer.status_code == 400
        assert get(client, "stats").json()["turns"] == before

    def test_two_headers_are_not_one_key(self, client: httpx.Client) -> None:
        twice = (("Idempotency-Key", "one"), ("Idempotency-Key", "two"))
        assert post(client, "add_turn", {"content": "a"}, *twice).status_code == 400

    def test_an_erased_turn_does_not_come_back_by_its_key(self, client: httpx.Client) -> None:
        for meta in (False, True):
            key = f"erased-{meta}"
            first = keyed(client, f"What {key} said.", key).json()
            post(client, "erase", {"headish": first["id"], "reason": "asked", "meta": meta})
            again = keyed(client, f"What {key} said.", key)
            assert again.status_code == 409 or again.json()["id"] == first["id"], again.text
            assert get(client, "text", headish=first["id"]).status_code == 410
            assert get(client, "search", query=f'"What {key} said"').json() == []

    def test_two_spaces_may_use_one_key_and_two_tokens_of_a_space_share_it(self, served: Served) -> None:
        with Database.open(served.settings.target) as database:
            database.store("keys").close()
            tokens = [database.access_tokens.add(f"keys-{number}", space="keys", rights=["read", "write"])
                      for number in range(2)]  # fmt: skip
        with served.client() as here, served.client(token=tokens[0]) as one, served.client(token=tokens[1]) as other:
            mine, theirs = keyed(here, "said here", "shared").json(), keyed(one, "said there", "shared").json()
            assert mine["id"] != theirs["id"]
            assert keyed(other, "said there", "shared").json() == theirs
            assert keyed(other, "said otherwise", "shared").json()["code"] == "KeyTaken"
            assert keyed(here, "said here", "shared").json() == mine

    def test_sent_by_many_at_once_it_stores_one_turn(self, place: Place, tmp_path: Path) -> None:
        """Also while the first is still being stored; of other turns under the same key none is."""
        store = place.open()
        with serving(place.target, tmp_path / "state", space=store.space) as served, served.client() as client:
            for number in range(5):
                with ThreadPoolExecutor(8) as several:
                    sent = [several.submit(keyed, client, f"{number} {each % 2}", f"k{number}") for each in range(8)]
                ended = [each.result() for each in sent]
                assert Counter(each.status_code for each in ended) == {200: 4, 409: 4}
                assert len({each.json()["id"] for each in ended if each.status_code == 200}) == 1
            assert store.stats().turns == 5


@contextmanager
def mortal(settings: WebSettings, listener: socket.socket) -> Iterator[Any]:
    """A server in a process of its own, killed at the end."""
    made = multiprocessing.get_context("spawn").Process(target=run_web, args=(settings, listener))
    made.start()
    try:
        yield made
    finally:
        made.kill()
        made.join()


def test_a_server_that_dies_between_the_commit_and_the_answer_stores_the_turn_once(
    durable_place: Place, tmp_path: Path
) -> None:
    store = durable_place.open()
    with Database.open(durable_place.target) as database:
        token = database.access_tokens.add("sender", space=store.space, rights=["write"])
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    settings = WebSettings(durable_place.target, str(tmp_path / "state"), port=port, space=store.space)
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "once"}
    body, address = {"content": "said once", "bookmark": "main"}, f"http://127.0.0.1:{port}{API}/add_turn"
    with mortal(settings, listener):
        request = httpx.Request("POST", address, json=body, headers=headers)
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        with socket.create_connection(("127.0.0.1", port)) as unread:
            unread.sendall(f"POST {API}/add_turn HTTP/1.1\r\n{head}\r\n".encode() + request.read())
            while store.find("once") is None:
                time.sleep(0.001)
    with mortal(settings, listener):
        again = httpx.post(address, json=body, headers=headers, timeout=60)
    listener.close()
    assert again.status_code == 200
    found = store.find("once")
    assert found is not None
    assert again.json()["id"] == found.id == store.bookmarks["main"]
    assert store.stats().turns == 1
