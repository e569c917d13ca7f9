"""Keys stay out of the database: where they are looked for, what they look like, and what only sounds like one."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode, encodebytes, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.content import strictjson
from headish.content.secrecy import judging
from headish.content.secrecy.finding import find_secret, find_shaped, is_quiet
from headish.content.secrecy.hiding import HIDDEN, hide_shapes
from headish.content.secrecy.judging import has_shape
from headish.errors import InvalidArgument, InvalidContent
from headish.serve.recorder.piecewise import ShapeFilter
from support.insides import unchanged

RANDOM = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
OBJECTS = (
    b'{"password": "hunter2\xc3\xbf?"}',
    b'{\n\t"n": [{"client_secret": "hunter2"}]\n}',
    b'{ "url": "https://me:hunter2@host" }',
    f'{{"n": "sk-{RANDOM}", "cut off'.encode(),
)


def token_of(head: bytes, claims: bytes, signature: int = 32) -> str:
    """A JSON web token, signed with so many bytes."""
    parts = (head, claims, bytes(range(signature)))
    return ".".join(urlsafe_b64encode(each).decode().rstrip("=") for each in parts)


def encrypted(head: bytes, key: int, nonce: int = 12, tag: int = 16) -> str:
    """A JSON web token that is encrypted, with a key, a nonce and a tag of so many bytes."""
    parts = (head, bytes(range(key)), bytes(range(nonce)), bytes(range(90)), bytes(range(tag)))
    return ".".join(urlsafe_b64encode(each).decode().rstrip("=") for each in parts)


SHAPES = [
    f"sk-{RANDOM}",
    f"sk-ant-api03-{RANDOM}",
    f"sk-proj-{RANDOM}",
    f"csk-{RANDOM}",
    f"zk-{RANDOM}",
    f"xai-{RANDOM}",
    f"gsk_{RANDOM}",
    f"hf_{RANDOM}",
    f"AIza{RANDOM}",
    f"ghp_{RANDOM}",
    f"Bearer {RANDOM}",
    f"Authorization: Bearer {RANDOM}",
    "https://user:hunter2@host/v1",
    "postgresql://me:hunter2@localhost/db",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    "Authorization: Basic bWU6aHVudGVyMg==",
    *(b64encode(b"x" * shift + b"-----BEGIN RSA PRIVATE KEY-----\nMIIE").decode() for shift in range(3)),
    *(b64encode(each).decode() for each in OBJECTS),
    urlsafe_b64encode(OBJECTS[0]).decode().rstrip("="),
    b64encode(b'{"twice": "' + b64encode(OBJECTS[0]) + b'"}').decode(),
    token_of(b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"123"}'),
    token_of(b'{"typ":"JWT","alg":"RS256"}', b"", 256),
    token_of(b'{\n  "alg": "ES256"\n}', b'{"sub":"123"}', 64),
    encrypted(b'{"alg":"dir","enc":"A256GCM"}', 0),
    encrypted(b'{"alg":"RSA-OAEP-256","enc":"A256CBC-HS512"}', 255, 16, 32),
]
NAMES = [
    "api_key",
    "apiKey",
    "api-key",
    "x-api-key",
    "OPENAI_API_KEY",
    "Authorization",
    "Proxy-Authorization",
    "client_secret",
    "password",
    "accessToken",
    "private_key",
]
ORDINARY: list[dict[str, Any]] = [
    {"max_tokens": 100, "token_limit": "100", "max_completion_tokens": 5, "stop_token": "<|end|>"},
    {"sort": {"key": "name"}, "key": "value", "keys": ["a", "b"], "primary_key": "id", "cache_key": "main"},
    {"logit_bias": {"50256": -100}, "prompt_cache_key": "thread-1", "idempotency_key": "abc"},
    {"tokenizer": "gpt2", "bos_token": "<s>", "next_page_token": "2"},
    {"api_key_env": "OPENAI_API_KEY", "api_key": "${OPENAI_API_KEY}", "authorization": "Bearer $TOKEN"},
    {"api_key": "OPENAI_API_KEY", "password": "***", "secret": "", "secretary": "Ann", "authors": "Ann"},
    {"api_key": None, "password": True},
    {"title": "sk-learn, a library for people", "model": "sk-something-of-no-number-here"},
    {"title": "the bearer of the news", "site": "https://host:8080/v1", "mail": "me@host", "at": "https://a.b/@me:x"},
    {
        "a": "Basic knowledge of basic arithmetic, a Basic Test",
        "b": "Authorization: Basic $LOGIN",
        "c": "Basic dXNlcjo=",
    },
    {"cursor": token_of(b'{"page":2}', b'{"of":"list"}'), "unsigned": token_of(b'{"alg":"none"}', b'{"sub":"123"}', 0)},
    {"cursor": encrypted(b'{"page":2}', 0), "cut off": encrypted(b'{"alg":"dir","enc":"A128GCM"}', 0, tag=15)},
    {"jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.c2lnbmF0dXJl", "data": "eyJuYW1lIjoiQW5uIn0=", "they": "eyJ"},
    {"certificate": b64encode(b"-----BEGIN CERTIFICATE-----\nMIIC" + b"A" * 400).decode(), "eyAi": "ewoi"},
    {"url": "https://user:***@host/", "xaiver": "xai-is-a-company-with-a-name", "hf_home": "hf_home_folder"},
]


@pytest.mark.parametrize("text", SHAPES)
def test_what_looks_like_a_key_is_refused_wherever_options_or_meta_hold_it(text: str) -> None:
    with Store.open(":memory:") as store:
        turn = store.add_turn("hello", bookmark="main")
        for value in ({"params": {"user": text}}, {"notes": [{"deep": text}]}, {text: 1}):
            with unchanged(store), pytest.raises(InvalidContent, match="it looks like a key") as refused:
                store.add_turn("hello", inherited=value)
            assert text not in str(refused.value) or text in value
            with unchanged(store), pytest.raises(InvalidContent, match="it looks like a key"):
                store.add_turn("hello", continues=turn.id, meta=value)
            with unchanged(store), pytest.raises(InvalidArgument, match="looks like a key"):
                store.pointers.set("milli", "openai/gpt-5", params=value)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_like_a_key_is_refused(name: str) -> None:
    with Store.open(":memory:") as store:
        with pytest.raises(InvalidContent, match=r"inherited cannot be kept: it looks like a key.*\(at \$\.headers"):
            store.add_turn("hello", inherited={"headers": {name: "x"}})
        with pytest.raises(InvalidContent, match=r"meta cannot be kept: it looks like a key.*\(at \$\."):
            store.add_turn("hello", meta={name: ["x"]})
        with pytest.raises(InvalidContent, match="inherited cannot be kept: it looks like a key"):
            store.add_document(b"hello", inherited={"params": {name: "x"}})
        assert store.stats().turns == 0


@pytest.mark.parametrize("value", ORDINARY)
def test_ordinary_words_are_no_keys(value: dict[str, Any]) -> None:
    assert find_secret(value, "$") is None
    with Store.open(":memory:") as store:
        turn = store.add_turn("hello", inherited={"params": value}, meta=value)
        assert turn.meta.app == value


def test_people_may_talk_about_keys() -> None:
    with Store.open(":memory:") as store:
        for text in SHAPES:
            assert store.text(store.add_turn(text).id) == text


class TestTools:
    def test_the_headers_of_a_server_are_refused(self) -> None:
        tool = {"name": "read", "inputSchema": {"type": "object"}, "_meta": {"headers": {"Authorization": "x y"}}}
        with Store.open(":memory:") as store:
            with pytest.raises(InvalidContent, match=r"the tools of a server .* a key.*_meta\.headers\.Authorization"):
                store.tools.set("files", [tool])
            assert len(store.tools) == 0

    def test_an_argument_may_be_named_so_and_a_description_may_show_an_example(self) -> None:
        schema = {
            "type": "object",
            "properties": {"password": {"type": "string", "description": "as in https://user:password@host/"}},
            "required": ["password"],
        }
        with Store.open(":memory:") as store:
            store.tools.set("files", [{"name": "login", "description": "takes an api_key", "inputSchema": schema}])
            assert store.tools["files"][0]["inputSchema"] == schema


@pytest.mark.parametrize("text", SHAPES)
def test_one_text_among_many_gives_a_key_away_and_its_place_is_told(text: str) -> None:
    harmless = {f"n{each}": ["of no key", {"at": "https://host/a_b-c"}] for each in range(50)}
    assert find_secret({**harmless, "last": [{"deep": f"behind words: {text}"}]}, "$") == "$.last[0].deep"
    assert find_secret({**harmless, text: 1}, "$") == "$"
    assert find_secret(harmless, "$") is None


def test_a_text_that_is_quiet_at_a_glance_holds_no_key() -> None:
    named = [{"a": [{f"{before}{name}{after}": "x"}]} for name in NAMES for before in ("", 'n"-', "é.") for after in
             ("", "_value")]  # fmt: skip
    shaped = [value for text in SHAPES for value in ({"a": text}, {"a": {text: 1}}, {"a": f'"{text}\n'})]
    given = [value for value in (*named, *shaped, {f"{'x' * 120}_api_key": "x"}) if find_secret(value, "$")]
    assert len(given) > len(NAMES) * 4 + len(SHAPES) * 3
    assert [value for value in given if is_quiet(strictjson.encode(value).decode())] == []
    assert is_quiet(strictjson.encode({"max_tokens": 1, "location": "https://host/", "title": "é"}).decode())


TOKEN = "ghp_a1b2c3d4e5f6g7h8i9j0"


@pytest.mark.parametrize("text", [
    f"https://me:hunter2-{TOKEN}@host", f"https://me:{TOKEN}-hunter2@host", f"https://{TOKEN}:hunter2@host",
    f"{TOKEN}https://me:hunter2@host", "sk-a1b2c3d4e5f6g7h8i9-postgres://me:hunter2@host", f"é{TOKEN}é://me:hunter2@host",
    "Bearer abcdefghijklmnop0123://me:hunter2@host", f"postgres://me:hunter2@{TOKEN}",
    "ébearer abcdefghijklmnophunter2", f"{TOKEN}-----BEGIN PRIVATE KEY-----hunter2",
    "Bearer abcdefghijklmnop0-----BEGIN PRIVATE KEY-----\nhunter2",
])  # fmt: skip
def test_a_password_and_a_token_without_a_blank_between_them_are_both_hidden(text: str) -> None:
    """In a whole text as in pieces of it: see also tests/serve/test_piecewise.py."""
    keys = ShapeFilter()
    for hidden in (hide_shapes(text), "".join(map(keys.feed, text)) + keys.finish()):
        assert HIDDEN in hidden
        assert "hunter2" not in hidden
        assert TOKEN not in hidden


def test_of_a_key_in_base64_nothing_is_left_in_any_of_its_lines() -> None:
    pem = encodebytes(b"-----BEGIN PRIVATE KEY-----\n" + RANDOM.encode() * 9 + b"\n-----END PRIVATE KEY-----").decode()
    for text in (f"key: {pem}, and on", "curl -H 'Authorization: Basic bWU6aHVudGVyMg==' x", "basic bWU6aHVudGVyMg"):
        hidden = hide_shapes(text).replace(HIDDEN, "")
        assert re.findall(r"[A-Za-z0-9+/]{14,}", hidden) == []
        assert hidden.endswith(text[-3:] if " x" in text or "on" in text else "")
    assert hide_shapes("Basic Basic bWU6aHVudGVyMg") == f"Basic {HIDDEN}"


@pytest.mark.parametrize(
    "token", [token_of(b'{"alg":"HS256"}', b'{"sub":"123"}'), encrypted(b'{"alg":"dir","enc":"A128GCM"}', 0)]
)
def test_of_a_web_token_nothing_is_left_and_nothing_beside_it_is_hidden(token: str) -> None:
    for text in (
        "{} .",
        "at https://host/a?jwt={}&b",
        "({}).",
        "{}\n{}\n",
        "a.{}.b",
        "é{}é",
        "eyJ.{}",
        "eyJ eyJ.eyJ.{}.",
    ):
        hidden = hide_shapes(text.replace("{}", token))
        assert hidden == text.replace("{}", HIDDEN)
    key = urlsafe_b64encode(OBJECTS[0]).decode().rstrip("=")
    assert hide_shapes(f"eyJhIjoxfQ.{key}.{'a' * 43}") == f"eyJhIjoxfQ.{HIDDEN}.{'a' * 43}", (
        "no head, but a key in claims"
    )


def test_what_is_encoded_again_and_again_is_decoded_once_at_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = [0]

    def counting(text: str) -> bytes:
        decoded[0] += len(text)
        return b64decode(text)

    monkeypatch.setattr(judging, "b64decode", counting)
    nested = OBJECTS[0]
    while len(nested) < 100_000:
        nested = b'{"n":"' + b64encode(nested) + b'"}'
    text = b64encode(nested).decode()
    for hostile in (
        text,
        "eyJ" * 50_000,
        "eyJ " * 50_000,
        "Basic " * 50_000,
        f"{'eyJ' * 20}\n" * 2_000,
        "eyJ." * 50_000,
        f"eyJ..{'a' * 16}.." * 5_000,
        f"eyJ..{'a' * 43}." * 5_000,
        f"{'eyJ' * 50_000}.{'eyJ' * 50_000}.a",
    ):
        decoded[0] = 0
        assert has_shape(hostile) == (hostile is text)
        assert decoded[0] <= 5 * len(hostile)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_found_among_many_texts_by_its_place(shape: str) -> None:
    quiet = [b"a task-force_ of people, who AKI nobody", b"", b"the bearer of https://host/ - me@host"]
    assert find_shaped([*quiet, shape.encode(), *quiet, b"\xff" + shape.encode() + b"\xff"]) == [3, 7]
    assert find_shaped(quiet) == []


def test_a_long_text_is_looked_at_by_itself() -> None:
    key = SHAPES[0].encode()
    texts = [b"a" * 70_000 + b" " + key, key, b"b-_A" * 20_000, b"", key + b" " + b"c" * 70_000]
    assert find_shaped(texts) == [0, 1, 4]


_PIECES = [each[:end] for each in SHAPES for end in (3, 4, 8, None)]


@given(st.lists(st.lists(st.sampled_from([*_PIECES, "A", "-", "_", "r", "://", "@", "\n", "é", RANDOM])).map("".join)))
def test_many_texts_are_looked_through_as_each_by_itself(texts: list[str]) -> None:
    assert find_shaped([each.encode() for each in texts]) == [at for at, text in enumerate(texts) if has_shape(text)]
