"""The verbs over HTTP, on both databases: what they take and give, and what refuses them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from headish import Database, Store
from headish.values.access.tokens import Right
from support.loopback import JSON, Loopback, event_stream
from support.loops import failing
from support.places import Place
from support.serving import Served, serving

pytestmark = pytest.mark.slow
API = "/api/v1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with serving(folder / "talk.db", folder / "state") as made:
        yield made


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as made:
        yield made


class Caller:
    """Calls verbs, and shows what went wrong."""

    def __init__(self, client: httpx.Client, space: str | None = None) -> None:
        self.client, self.query = client, {} if space is None else {"space": space}

    def get(self, verb: str, **arguments: Any) -> Any:
        answer = self.client.get(f"{API}/{verb}", params={**arguments, **self.query})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, verb: str, **arguments: Any) -> Any:
        answer = self.client.post(f"{API}/{verb}", json=arguments, params=self.query)
        assert answer.status_code == 200, answer.text
        return answer.json()


def test_a_conversation_is_written_and_read_on_both_databases(place: Place, tmp_path: Path) -> None:
    """What the API gives is what the store says of itself."""
    store = place.open()
    with serving(place.target, tmp_path / "state", space=store.space) as served, served.client() as client:
        caller = Caller(client)
        first = caller.post("add_turn", content="capital of France?", bookmark="main", key="k1")
        second = caller.post("add_turn", content=[{"type": "text", "text": "Paris"}], continues="main",
                             role="assistant")  # fmt: skip
        assert caller.get("get", headish="main") == second == store.get("main").to_dict()
        assert caller.get("find", key="k1") == first
        assert caller.get("text", headish="main") == "Paris"
        assert [each["id"] for each in caller.get("log", headish="main")] == [second["id"], first["id"]]
        assert caller.get("thread", headish="main") == store.thread("main").to_dict()
        assert caller.get("resolve", headish="main") == store.resolve("main").to_dict()
        assert caller.get("blocks", headish="main") == [{"type": "text", "text": "Paris"}]
        assert caller.get("stats") == store.stats().to_dict()
        other = caller.post("edit", headish=first["id"], content="capital of Spain?")
        assert len(caller.get("heads")) == len(store.heads()) == 2
        assert caller.get("diff", first="main", second=other["turn"]["id"])
        assert caller.get("tree", headish="main") == store.tree("main").to_dict()
        (hit,) = caller.get("search", query="Spain")
        assert "Spain" in json.dumps(hit)
        assert caller.get("bookmarks/list") == [{"name": "main", "turn": second["id"]}]
        assert caller.post("conversations/set", subject="main", title="Capitals", tags=["geo"])["title"] == "Capitals"
        assert "Capitals" in json.dumps(caller.get("conversations/list")["entries"][0])
        recorded = caller.post("record", messages=[{"role": "user", "content": "hello"}], bookmark="other")
        assert recorded["added"] == 1
        assert [each["id"] for each in caller.get("turns", limit=2)] == [first["id"], second["id"]]
        assert caller.get("turns", after=second["id"], limit=1)[0]["id"] == other["turn"]["id"]
        assert [len(caller.get("turns", limit=each)) for each in ("1.0", "2e0")] == [1, 2]
        assert caller.get("messages", headish="main", form="chat")[0]["role"] == "user"
        assert "Paris" in caller.get("export", headish="main", format="chat")
        caller.post("erase", headish=[second["id"]], reason="asked")
        gone = client.get(f"{API}/text", params={"headish": second["id"]})
        assert (gone.status_code, gone.json()["code"]) == (410, "TurnErased")
        assert caller.get("verify")["problems"] == []


def test_every_reading_verb_answers(client: httpx.Client, served: Served) -> None:
    """Each with the arguments that it needs."""
    from headish.serve.api.table import VERBS, BodyForm

    caller = Caller(client)
    turn = caller.post("add_turn", content="a", bookmark="reading")
    caller.post("objects/put", kind="note", key="a", data="YQ==")
    caller.post("tools/set", server="files", tools=[])
    needed = dict.fromkeys(("headish", "first", "second", "name", "subject"), "reading")
    needed |= {"ids": turn["id"], "key": "a", "kind": "note"}
    special = {
        "lint": {"to": "openai"},
        "original": None,
        "pointers.history": None,
        "calls.get": None,
        "calls.body": None,
        "conversations.find": None,
    }

    def check(name: str) -> None:
        verb = next(each for each in VERBS if each.name == name)
        arguments = {key: needed[key] for key in verb.arguments.__struct_fields__ if key in needed}
        answer = client.get(f"{API}{verb.path}", params={**arguments, **(special.get(name) or {})})
        assert answer.status_code == 200, answer.text
        assert client.head(f"{API}{verb.path}", params={**arguments, **(special.get(name) or {})}).status_code == 200

    names = [each.name for each in VERBS if each.method == "GET" and each.form is not BodyForm.EVENTS]
    assert json.dumps(failing([name for name in names if special.get(name, {}) is not None], check), indent=1) == "{}"


def test_an_etag_says_whether_anything_changed(client: httpx.Client) -> None:
    caller = Caller(client)
    turn = caller.post("add_turn", content="tagged", bookmark="tagged")

    def tag(verb: str) -> str:
        answer = client.get(f"{API}/{verb}", params={"headish": turn["id"]})
        again = client.get(f"{API}/{verb}", params={"headish": turn["id"]},
                           headers={"If-None-Match": f'"x", {answer.headers["etag"]}'})  # fmt: skip
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["cache-control"] == "private, no-cache"
        return str(answer.headers["etag"])

    assert tag("get") == f'"{turn["seal"]}"'
    before = [tag("thread"), tag("log"), tag("messages")]
    caller.post("erase", headish=[turn["id"]], reason="asked")
    assert tag("get").startswith(f'"{turn["seal"]}-e')
    assert all(old != new for old, new in zip(before, [tag("thread"), tag("log"), tag("messages")], strict=True))


def test_a_key_stores_a_turn_once(client: httpx.Client) -> None:
    def add(content: str) -> httpx.Response:
        return client.post(f"{API}/add_turn", json={"content": content}, headers={"Idempotency-Key": "call:7"})

    first, again, other = add("once"), add("once"), add("twice")
    assert first.json() == again.json()
    assert first.json()["meta"]["key"] == "call:7"
    assert (other.status_code, other.json()["code"]) == (409, "KeyTaken")


def test_if_match_is_what_a_name_or_a_record_must_be(client: httpx.Client) -> None:
    caller = Caller(client)
    one = caller.post("add_turn", content="1", bookmark="moving")
    two = caller.post("add_turn", content="2", continues="moving")

    def send(verb: str, arguments: dict[str, Any], **headers: str) -> tuple[int, str]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = client.post(f"{API}/{verb}", json=arguments, headers=sent)
        return answer.status_code, answer.json().get("code", "") if answer.content.startswith(b"{") else ""

    back = {"name": "moving", "headish": one["id"]}
    assert send("bookmarks/set", back, If_Match=f'"{one["id"]}"') == (412, "BookmarkMoved")
    assert send("bookmarks/set", back, If_Match=f'"{two["id"]}"')[0] == 200
    assert send("bookmarks/set", back, If_None_Match="*") == (412, "BookmarkMoved")
    put = {"kind": "k", "key": "if-match", "data": "YQ=="}
    assert send("objects/put", put, If_None_Match="*")[0] == 200
    assert send("objects/put", put, If_None_Match="*") == (412, "RecordChanged")
    tag = client.get(f"{API}/objects/get", params={"kind": "k", "key": "if-match"}).headers["etag"]
    assert send("objects/put", put, If_Match=tag)[0] == 200
    assert send("objects/put", put, If_Match=tag) == (412, "RecordChanged")
    assert send("objects/put", put, If_Match='"99999999999999999999"')[0] == 400


def test_what_is_wrong_has_a_status_and_the_class_as_its_code(client: httpx.Client) -> None:
    Caller(client).post("add_turn", content="a", bookmark="wrong")

    def check(status: int, code: str, method: str, path: str, sent: dict[str, Any]) -> None:
        answer = client.request(method, f"{API}/{path}", **sent)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status

    cases: list[tuple[int, str, str, str, dict[str, Any]]] = [
        (400, "InvalidHeadish", "GET", "get?headish=~", {}),
        (400, "InvalidArgument", "GET", "get", {}),
        (400, "InvalidArgument", "GET", "get?headish=wrong&x=1", {}),
        (400, "InvalidArgument", "GET", "get?headish=wrong&headish=wrong", {}),
        (400, "InvalidArgument", "GET", "log?headish=wrong&limit=501", {}),
        (400, "InvalidArgument", "GET", "log?headish=wrong&limit=0", {}),
        (400, "InvalidArgument", "GET", "turns?limit=x", {}),
        (400, "InvalidArgument", "GET", "heads?by=colour", {}),
        (400, "InvalidArgument", "POST", "add_turn", {"json": {}}),
        (400, "InvalidArgument", "POST", "add_turn", {"json": []}),
        (400, "InvalidArgument", "POST", "add_turn", {"json": {"content": 5}}),
        (400, "InvalidArgument", "POST", "add_turn", {"content": b"{", "headers": JSON}),
        (400, "InvalidArgument", "POST", "add_turn", {"content": b"{}", "headers": {"Content-Type": "text/plain"}}),
        (400, "InvalidArgument", "POST", "add_turn", {"data": {"content": "a"}}),
        (400, "InvalidArgument", "POST", "add_turn", {"content": b"[" * 100_000, "headers": JSON}),
        (400, "InvalidRole", "POST", "add_turn", {"json": {"content": "a", "role": "boss"}}),
        (400, "InvalidArgument", "GET", "follow?after=nonsense", {}),
        (400, "InvalidName", "GET", "stats?space=a%20b", {}),
        (404, "UnknownTurn", "GET", "get?headish=nothing", {}),
        (404, "UnknownSpace", "GET", "stats?space=nowhere", {}),
        (404, "UnknownObject", "GET", "objects/get?kind=a&key=b", {}),
        (404, "UnknownPointer", "POST", "ask", {"json": {"content": "a", "ptr": "nobody"}}),
        (404, "HTTPError", "GET", "nothing", {}),
        (405, "HTTPError", "POST", "get", {}),
        (405, "HTTPError", "GET", "add_turn", {}),
        (405, "HTTPError", "OPTIONS", "get", {}),
        (413, "TooLarge", "POST", "add_turn", {"json": {"content": "x" * 1_000_001}}),
    ]  # fmt: skip
    assert failing(cases, check) == {}


def with_token(folder: Path, served: Served, space: str, *rights: Right) -> httpx.Client:
    with Database.open(folder / "talk.db") as database:
        database.store(space)
        label = f"{space}-{'-'.join(rights)}"
        return served.client(token=database.access_tokens.add(label, space=space, rights=rights))


def test_a_token_does_what_its_rights_say_in_its_space(served: Served, folder: Path) -> None:
    reading, writing = (with_token(folder, served, "mine", right) for right in ("read", "write"))
    with Store.open(folder / "talk.db", space="mine") as store:
        store.add_turn("mine", bookmark="main")
    assert reading.get(f"{API}/text", params={"headish": "main"}).json() == "mine"
    refused = reading.post(f"{API}/add_turn", json={"content": "a"})
    assert (refused.status_code, refused.json()["code"]) == (403, "RightMissing")
    assert writing.post(f"{API}/add_turn", json={"content": "a"}).status_code == 200, "no page sent it: it needs none"
    assert writing.get(f"{API}/text", params={"headish": "main"}).status_code == 403
    assert writing.post(f"{API}/erase", json={"headish": ["main"], "reason": "x"}).status_code == 403


def test_another_space_is_as_unknown_as_none(served: Served, folder: Path) -> None:
    reading = with_token(folder, served, "here", "read", "write", "erase")
    with Store.open(folder / "talk.db", space="elsewhere") as store:
        store.add_turn("secret", bookmark="main")
    answers = [
        reading.get(f"{API}/get", params={"headish": "main", "space": each}) for each in ("elsewhere", "nothing")
    ]
    told = [each.text.replace("elsewhere", "X").replace("nothing", "X") for each in answers]
    assert told[0] == told[1]
    assert [each.status_code for each in answers] == [404, 404]
    made = reading.post(f"{API}/add_turn", json={"content": "a"}, params={"space": "new"})
    assert made.status_code == 404
    with Database.open(folder / "talk.db") as database:
        assert "new" not in database.spaces


def test_a_removed_token_is_good_for_a_second_at_most(served: Served, folder: Path) -> None:
    client = with_token(folder, served, "brief", "read")
    assert client.get(f"{API}/stats").status_code == 200
    with Database.open(folder / "talk.db") as database:
        database.access_tokens.remove("brief-read", space="brief")
    until(lambda: client.get(f"{API}/stats").status_code == 401)


def until(done: Callable[[], bool]) -> None:
    """Wait for something that comes; a test that hangs is ended from outside."""
    import time

    while not done():
        time.sleep(0.1)
    assert done()


def test_documents_and_files_come_as_bodies_and_never_as_paths(client: httpx.Client, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    large = b"%PDF" + b"x" * 1_500_000
    made = client.post(f"{API}/add_document", params={"name": "a.pdf", "bookmark": "doc"}, content=large)
    assert made.status_code == 200
    back = client.get(f"{API}/payload", params={"headish": "doc"})
    assert back.content == large
    assert back.headers["content-disposition"] == "attachment"
    assert back.headers["content-security-policy"].startswith("sandbox")
    client.post(f"{API}/add_document", params={"bookmark": "path"}, content=str(secret).encode())
    assert client.get(f"{API}/payload", params={"headish": "path"}).content == str(secret).encode()
    chat = json.dumps({"messages": [{"role": "user", "content": "imported"}]}).encode()
    imported = client.post(f"{API}/import_file", content=chat)
    assert imported.status_code == 200, imported.text
    assert client.get(f"{API}/text").status_code == 400
    assert client.get(f"{API}/text", params={"headish": "@"}).json() == "imported"
    refused = client.post(f"{API}/import_file", params={"source": str(secret)}, content=chat)
    assert refused.status_code == 400
    refused = client.post(f"{API}/cost", json={"headish": ["doc"], "prices": str(secret)})
    assert (refused.status_code, "secret" in refused.text) == (400, False)


def events_of(answer: httpx.Response, count: int) -> list[dict[str, str]]:
    """The first events of a stream that are no comments."""
    found: list[dict[str, str]] = []
    event: dict[str, str] = {}
    for line in answer.iter_lines():
        if not line and "event" in event:
            found.append(event)
        if not line:
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value
        if len(found) == count:
            break
    return found


def test_changes_come_as_events_and_go_on_behind_the_last_one(client: httpx.Client) -> None:
    caller = Caller(client)
    after = caller.get("position")
    turns = [caller.post("add_turn", content=str(each))["id"] for each in range(3)]
    with client.stream("GET", f"{API}/follow", params={"after": after, "kinds": "turn"}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        first, second = events_of(stream, 2)
    assert [json.loads(each["data"])["turn"]["id"] for each in (first, second)] == turns[:2]
    assert first["event"] == "turn"
    with client.stream("GET", f"{API}/follow", params={"after": after, "kinds": "turn"},
                       headers={"Last-Event-ID": second["id"]}) as stream:  # fmt: skip
        (third,) = events_of(stream, 1)
    assert json.loads(third["data"])["turn"]["id"] == turns[2]
    lost = client.get(f"{API}/follow", params={"after": "99999999" + after})
    assert lost.status_code in (400, 410)


def chat_chunk(text: str, **further: Any) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "model": "m",
            "choices": [{"index": 0, "delta": {"content": text}, **further}]}  # fmt: skip


@pytest.fixture
def model(served: Served, folder: Path) -> Iterator[Loopback]:
    """A model that the pointer ``local`` names."""
    with Loopback() as server, Store.open(folder / "talk.db") as store:
        store.pointers.set("local", "openai/m", base_url=f"{server.url}/v1", key_env="HEADISH_NO_KEY")
        yield server


def test_an_answer_arrives_as_events_or_as_a_turn(
    client: httpx.Client, model: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADISH_NO_KEY", "x")
    chunks = event_stream([chat_chunk("Pa"), chat_chunk("ris"), chat_chunk("", finish_reason="stop")])
    model.answer(chunks=[*chunks, b"data: [DONE]\n\n"])
    with client.stream("POST", f"{API}/ask", json={"content": "capital?", "ptr": "local", "bookmark": "asked"},
                       headers={"Accept": "text/event-stream"}) as stream:  # fmt: skip
        events = events_of(stream, 3)
    assert [each["event"] for each in events] == ["delta", "delta", "turn"]
    assert client.get(f"{API}/text", params={"headish": "asked"}).json() == "Paris"
    assert json.loads(events[-1]["data"]) == client.get(f"{API}/get", params={"headish": "asked"}).json()
    model.answer(chunks=[*chunks, b"data: [DONE]\n\n"])
    turn = client.post(f"{API}/ask", json={"content": "again?", "ptr": "local", "continues": "asked"})
    assert turn.json()["meta"]["role"] == "assistant"
    model.answer(status=500, headers=JSON, chunks=[b'{"error": {"message": "no"}}'])
    model.answer(status=400, headers=JSON, chunks=[b'{"error": {"message": "no"}}'])
    refused = client.post(f"{API}/ask", json={"content": "again?", "ptr": "local", "continues": "asked"})
    assert (refused.status_code, refused.json()["code"]) == (502, "CallRefused")


def test_who_may_enter_one_space_learns_no_other_name_from_an_erasure(tmp_path: Path) -> None:
    with Database.open(tmp_path / "talk.db") as database:
        store = database.store("mine", create=True)
        turn = store.add_turn("a", bookmark="main")
        database.store("theirs", create=True)
        store.copy_to("theirs")
        (tmp_path / "talk.db.backup-theirs").write_bytes(b"")
        token = database.access_tokens.add("eraser", space="mine", rights=("read", "erase"))
    asked = {"headish": ["main"], "reason": "x", "dry_run": True}
    with serving(tmp_path / "talk.db", tmp_path / "state", space="mine") as served:
        person, program = served.client(), served.client(token)
        found = {who: client.post(f"{API}/erase", json=asked).json()["found"] for who, client in
                 (("person", person), ("program", program))}  # fmt: skip
        assert (found["person"]["elsewhere"], len(found["person"]["copies"])) == ({"theirs": 1}, 1)
        assert "theirs" not in json.dumps(found["program"])
        assert {**found["program"], "elsewhere": {"theirs": 1}, "copies": found["person"]["copies"]} == found["person"]
        accept = {"accept": "text/html"}
        assert "theirs" in person.get(f"/erase/{turn.id}", headers=accept).text
        shown = program.get(f"/erase/{turn.id}", headers=accept)
        assert (shown.status_code, "theirs" in shown.text) == (200, False)
        done = program.post(f"{API}/erase", json={**asked, "dry_run": False}).json()
        assert "theirs" not in json.dumps(done)
        assert "copies of these turns in other spaces of this database (1)" in done["receipt"]["not_reached"]


def test_a_read_only_server_changes_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "talk.db") as store:
        store.add_turn("a", bookmark="main")
    with serving(tmp_path / "talk.db", tmp_path / "state", read_only=True) as served, served.client() as client:
        assert client.get(f"{API}/text", params={"headish": "main"}).json() == "a"
        for verb, sent in (("add_turn", {"content": "b"}), ("erase", {"headish": ["main"], "reason": "x"})):
            answer = client.post(f"{API}/{verb}", json=sent)
            assert (answer.status_code, answer.json()["code"]) == (403, "RightMissing")


def test_a_proxys_user_named_like_a_space_does_not_enter_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "talk.db", space="server") as store:
        store.add_turn("the server's", bookmark="main")
    behind = {"behind_proxy": ("127.0.0.0/8",), "user_header": "X-User"}
    for more in ({"space": "server"}, {"space": "server", "user_space": "ser{user}"}):
        with serving(tmp_path / "talk.db", tmp_path / "state", **behind, **more) as served:
            for user in ("server", "ser", "ver"):
                answer = served.stranger(headers={"X-User": user}).get(f"{API}/text", params={"headish": "main"})
                assert answer.status_code in (401, 404), (user, answer.text)


def test_a_proxys_user_has_a_space_of_his_own(tmp_path: Path) -> None:
    behind = {"behind_proxy": ("127.0.0.0/8",), "user_header": "X-User", "user_space": "user-{user}"}
    with serving(tmp_path / "talk.db", tmp_path / "state", **behind) as served:
        own = {"Origin": served.url}
        ann = served.stranger(headers={"X-User": "ann", **own})
        turn = ann.post(f"{API}/add_turn", json={"content": "hers", "bookmark": "main"})
        assert turn.json()["meta"]["author"] == "ann"
        assert ann.get(f"{API}/text", params={"headish": "main"}).json() == "hers"
        bob = served.stranger(headers={"X-User": "bob", **own})
        assert bob.get(f"{API}/text", params={"headish": "main"}).status_code == 404
        assert bob.get(f"{API}/stats", params={"space": "user-ann"}).status_code == 404
        assert bob.get(f"{API}/stats", params={"space": "default"}).status_code == 404
        foreign = served.stranger(headers={"X-User": "ann", "Origin": "https://evil.example"})
        assert foreign.post(f"{API}/add_turn", json={"content": "x"}).status_code == 403
        for user in ("../x", "a b", "", "a:b", "a\u00e9@"):
            answer = served.stranger(headers={"X-User": user.encode()}).get(f"{API}/stats")
            assert answer.status_code in (400, 401), user
        twice = served.stranger(headers=[("X-User", "ann"), ("X-User", "bob")])
        assert twice.get(f"{API}/stats").status_code == 401
    with serving(tmp_path / "talk.db", tmp_path / "state", **{**behind, "behind_proxy": ("10.0.0.0/8",)}) as served:
        assert served.stranger(headers={"X-User": "ann"}).get(f"{API}/stats").status_code == 401
        told = {"X-User": "ann", "X-Forwarded-For": "10.0.0.1", "Forwarded": "for=10.0.0.1"}
        assert served.stranger(headers=told).get(f"{API}/stats").status_code == 401
