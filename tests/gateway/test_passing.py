"""What passes the gateway is not changed, whatever either side does; and what is written down is what passed."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import brotli
import pytest
import zstandard

from headish.gateway.recording.bodies import BODY_LIMIT_BYTES
from support.gateways import Running, running
from support.loops import failing
from support.relays import make_certificate, relayed
from support.upstream import (
    CUT,
    LAST,
    Asked,
    Step,
    Upstream,
    answer,
    byte_by_byte,
    chunked,
    gzipped,
    head,
    out_of_reach,
    stream,
)

pytestmark = pytest.mark.slow

EVENTS = [f"data: {json.dumps({'text': text}, ensure_ascii=False)}\n\n".encode() for text in ("grüß", "dich", "🦊", "")]
WHOLE = b"".join(EVENTS)
PATH = "/anthropic/v1/messages"
TESTS = Path(__file__).parents[1]
ASKS_BY_A_GATEWAY = """
import sys
from pathlib import Path
from support.gateways import running
with running(Path(sys.argv[1]), sys.argv[2]) as gateway:
    print(gateway.ask("/anthropic/v1/messages", b"{}", {"Content-Type": "application/json"})[0])
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as started:
        yield started


@pytest.fixture
def gateway(upstream: Upstream, tmp_path: Path) -> Iterator[Running]:
    upstream.asked.clear()
    upstream.gone.clear()
    with running(tmp_path, upstream) as started:
        yield started


def test_method_path_query_headers_and_body_reach_the_upstream_as_they_were_sent(
    upstream: Upstream, gateway: Running
) -> None:
    upstream.script = lambda _: answer(b"{}")
    sent = {
        "Content-Type": "application/json",
        "X-Api-Key": "a key",
        "anthropic-beta": "one,two",
        "X-Stainless-OS": "Linux",
        "Accept": "*/*",
        "Accept-Encoding": "gzip, br",
        "User-Agent": "client/1",
    }
    dropped = {
        "Cookie": "a=b",
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "1",
        "TE": "trailers",
        "X-Headish-Conversation": "mine",
    }
    target = "/v1/a%2Fb%20c/../d;e?q=%20+&r=%C3%BC&empty=&x"
    gateway.ask("/anthropic" + target, b"\x00 {body}\xff", sent | dropped, method="PUT")
    [asked] = upstream.asked
    assert (asked.method, asked.target, asked.body) == ("PUT", target, b"\x00 {body}\xff")
    expected = {("Host", upstream.url.removeprefix("http://")), ("Content-Length", "9"), *sent.items()}
    assert set(asked.headers) == expected
    assert len(asked.headers) == len(expected)


def test_a_request_without_headers_gets_none_added(upstream: Upstream, gateway: Running) -> None:
    upstream.script = lambda _: answer(b"{}")
    with socket.create_connection(("127.0.0.1", gateway.port)) as client:
        client.sendall(f"GET /ollama/api/tags HTTP/1.1\r\nHost: 127.0.0.1:{gateway.port}\r\n\r\n".encode())
        client.recv(100)
    assert upstream.asked[0].headers == [("Host", upstream.url.removeprefix("http://"))]


def test_status_headers_and_body_come_back_as_they_were_sent(upstream: Upstream, gateway: Running) -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error"}}'
    others = ("Request-Id: req_1", "retry-after: 3", "Set-Cookie: a=b", "X-Two: 1", "X-Two: 2", "Keep-Alive: timeout=5")
    upstream.script = lambda _: answer(body, 529, "application/json; charset=utf-8", *others)
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port)
    connection.request("POST", PATH, b"{}")
    response = connection.getresponse()
    assert (response.status, response.reason, response.read()) == (529, "Told", body)
    assert response.getheaders() == [
        ("content-type", "application/json; charset=utf-8"),
        ("Request-Id", "req_1"),
        ("retry-after", "3"),
        ("X-Two", "1"),
        ("X-Two", "2"),
        ("content-length", str(len(body))),
    ]
    connection.close()
    [call] = gateway.calls(1)
    assert call.head is not None
    assert call.head.headers == {
        "content-type": "application/json; charset=utf-8",
        "request-id": "req_1",
        "retry-after": "3",
    }


def test_a_stream_passes_however_it_is_cut_and_compressed(upstream: Upstream, gateway: Running) -> None:
    """Each byte its own chunk, lines and characters split, in every encoding; the record holds the events."""
    sse = "text/event-stream"
    cases: dict[str, tuple[list[Step], bytes]] = {
        "events": (stream(EVENTS), WHOLE),
        "bytes": (stream(byte_by_byte(WHOLE)), WHOLE),
        "at once": (stream([WHOLE]), WHOLE),
        "gzip": (stream(gzipped(EVENTS), sse, "content-encoding: gzip"), b"".join(gzipped(EVENTS))),
        "gzip by bytes": (
            stream(byte_by_byte(gzip.compress(WHOLE, mtime=0)), sse, "content-encoding: gzip"),
            gzip.compress(WHOLE, mtime=0),
        ),
        "two gzips": (
            stream([gzip.compress(each, mtime=0) for each in EVENTS], sse, "content-encoding: gzip"),
            b"".join(gzip.compress(each, mtime=0) for each in EVENTS),
        ),
        "deflate": (
            stream(byte_by_byte(zlib.compress(WHOLE)), sse, "content-encoding: deflate"),
            zlib.compress(WHOLE),
        ),
        "raw deflate": (
            stream([zlib.compress(WHOLE)[2:-4]], sse, "content-encoding: deflate"),
            zlib.compress(WHOLE)[2:-4],
        ),
        "raw deflate by bytes": (
            stream(byte_by_byte(zlib.compress(WHOLE)[2:-4]), sse, "content-encoding: deflate"),
            zlib.compress(WHOLE)[2:-4],
        ),
        "br": (
            stream(byte_by_byte(brotli.compress(WHOLE)), sse, "content-encoding: br"),
            brotli.compress(WHOLE),
        ),
        "zstd": (
            stream(byte_by_byte(zstandard.compress(WHOLE)), sse, "content-encoding: zstd"),
            zstandard.compress(WHOLE),
        ),
        "without chunks": ([head(200, sse, "connection: close", chunks=False), *byte_by_byte(WHOLE), CUT], WHOLE),
    }
    for number, (name, (steps, passed)) in enumerate(cases.items(), 1):
        upstream.script = lambda _, steps=steps: steps  # type: ignore[misc]
        status, headers, body = gateway.ask(PATH, b"{}")
        assert (name, status, body) == (name, 200, passed)
        assert headers["x-accel-buffering"] == "no"
        call = gateway.calls(number)[-1]
        assert call.end is not None
        assert (name, call.response, call.end.outcome, call.end.left_out) == (name, WHOLE, "ok", None)
        assert call.end.response_bytes == len(passed)


def test_what_is_broken_or_unknown_passes_and_the_record_says_so(upstream: Upstream, gateway: Running) -> None:
    broken = gzip.compress(WHOLE, mtime=0)[:-8] + b"\xff" * 40  # a wrong sum, and no gzip behind it
    cases = {
        "unknown": ("snappy", b"abc", b"", "encoding is 'snappy'"),
        "broken": ("gzip", broken, None, "cannot be decompressed"),
        "cut off": ("gzip", gzip.compress(WHOLE, mtime=0)[:-20], None, "is cut off"),
        "cut off at once": ("deflate", b"\x78", b"", "is cut off"),
        "cut off brotli": ("br", brotli.compress(WHOLE)[:-20], None, "is cut off"),
        "cut off zstd": ("zstd", zstandard.compress(WHOLE)[:-20], None, "is cut off"),
        "empty": ("gzip", b"", b"", ""),
        "empty brotli": ("br", b"", b"", ""),
        "not brotli": ("br", b"\xff" * 50, b"", "cannot be decompressed"),
        "not zstd": ("zstd", b"abcdefgh", b"", "cannot be decompressed"),
        "twice": ("gzip, br", b"abc", b"", "encoding is 'gzip, br'"),
    }
    for number, (name, (encoding, sent, kept, why)) in enumerate(cases.items(), 1):
        upstream.script = lambda _, sent=sent, encoding=encoding: answer(  # type: ignore[misc]
            sent, 200, "application/json", f"content-encoding: {encoding}"
        )
        status, headers, body = gateway.ask(PATH, b"{}")
        assert (name, status, body, headers["content-encoding"]) == (name, 200, sent, encoding)
        call = gateway.calls(number)[-1]
        assert call.end is not None
        assert call.end.outcome == "ok"
        assert why in (call.end.left_out or ""), name
        assert (call.end.left_out is None) == (why == "")
        assert kept is None or call.response == kept
        assert WHOLE.startswith(call.response)


def test_requests_are_recorded_decompressed_and_passed_compressed(upstream: Upstream, gateway: Running) -> None:
    upstream.script = lambda _: answer(b"{}")
    cases = {"gzip": gzip.compress(WHOLE), "zstd": zstandard.compress(WHOLE), "br": brotli.compress(WHOLE)}
    for number, (encoding, body) in enumerate(cases.items(), 1):
        sent = iter(byte_by_byte(body)) if encoding == "zstd" else body
        gateway.ask(PATH, sent, {"content-encoding": encoding, "content-type": "application/json"})
        assert (upstream.asked[-1].body, upstream.asked[-1].header("content-encoding")) == (body, encoding)
        call = gateway.calls(number)[-1]
        assert (call.request, call.is_sent) == (WHOLE, True)
    assert upstream.asked[1].header("transfer-encoding") == "chunked"


def test_bodies_of_100_mb_pass_both_ways_and_are_not_kept(tmp_path: Path) -> None:
    """Compared by their digests; the record says what it left out, and the gateway's memory did not hold them."""
    part, parts = bytes(range(256)) * 4096, 100
    whole = blake2b()
    for _ in range(parts):
        whole.update(part)

    def script(_: Asked) -> Iterator[Step]:
        yield head(200, "application/json", f"content-length: {len(part) * parts}", chunks=False)
        yield from (part for _ in range(parts))

    with Upstream(script, keep_bodies=False) as large, running(tmp_path, large) as gateway:
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port)
        connection.request("POST", "/openai/v1/files", (part for _ in range(parts)), {"content-type": "text/plain"})
        response, received = connection.getresponse(), blake2b()
        while chunk := response.read(2**16):
            received.update(chunk)
        connection.close()
        assert large.asked[0].digest == received.hexdigest() == whole.hexdigest()
        [call] = gateway.calls(1)
        assert call.end is not None
        assert (call.end.request_bytes, call.end.response_bytes) == (len(part) * parts,) * 2
        assert call.end.left_out == "it has more than 67,108,864 bytes"


def test_a_body_that_unpacks_to_too_much_passes_and_is_counted(upstream: Upstream, gateway: Running) -> None:
    """In one body and in many chunks, however small it is where it passes."""
    zeros = bytes(BODY_LIMIT_BYTES + 1)
    bombs = {
        "gzip": gzip.compress(zeros, 1),
        "deflate": zlib.compress(zeros, 1),
        "br": brotli.compress(zeros, quality=1),
        "zstd": zstandard.compress(zeros),
    }
    for number, (encoding, bomb) in enumerate(bombs.items(), 1):
        upstream.script = lambda _, bomb=bomb, encoding=encoding: answer(  # type: ignore[misc]
            bomb, 200, "application/json", f"content-encoding: {encoding}"
        )
        sent = (bomb[at : at + 4096] for at in range(0, len(bomb), 4096))
        status, _, body = gateway.ask(PATH, sent, {"content-encoding": encoding, "content-type": "application/json"})
        assert (status, body, upstream.asked[-1].body) == (200, bomb, bomb), encoding
        call = gateway.calls(number)[-1]
        assert call.end is not None
        assert (call.end.outcome, call.end.left_out) == ("unrecorded", "it has more than 67,108,864 bytes"), encoding
        assert max(len(call.request), call.response_size) <= BODY_LIMIT_BYTES
        assert gateway.health()["unrecorded"] == number
        gateway.reader.forget(call.id)
    upstream.script = lambda _: answer(b"{}")
    gateway.ask(PATH, b"{}")
    ended = gateway.calls(5)[-1].end
    assert ended is not None
    assert ended.outcome == "ok"


def test_files_pass_and_are_not_kept(upstream: Upstream, gateway: Running) -> None:
    upstream.script = lambda _: answer(b"\x89PNG", 200, "image/png")
    form = b'--x\r\ncontent-disposition: form-data; name="file"\r\n\r\n{"custom_id": 1}\r\n--x--\r\n'
    gateway.ask("/openai/v1/files", form, {"content-type": "multipart/form-data; boundary=x"})
    assert upstream.asked[0].body == form
    [call] = gateway.calls(1)
    assert call.end is not None
    assert (call.request, call.response, call.end.left_out) == (b"", b"", "its type is multipart/form-data")


def test_an_event_passes_before_the_next_is_sent(upstream: Upstream, gateway: Running) -> None:
    """The upstream sends each event only after the client has the one before."""
    turn = threading.Semaphore(1)

    def script(_: Asked) -> Iterator[Step]:
        yield head(200, "text/event-stream")
        for event in chunked(EVENTS):
            while not turn.acquire(blocking=False):
                yield 0.005
            yield event
        yield LAST

    upstream.script = script
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
    connection.request("POST", PATH, b"{}")
    response = connection.getresponse()
    received = b""
    for event in EVENTS:
        while len(event) > 0 and not received.endswith(event):
            received += response.read1(2**16)
        turn.release()
    assert received == WHOLE
    assert response.read() == b""
    connection.close()
    [call] = gateway.calls(1)
    assert call.head
    assert call.end
    assert call.end.first_byte_at
    assert call.begin.at <= call.head.at <= call.end.first_byte_at <= call.end.at


def test_an_upstream_that_breaks_off_breaks_the_answer_off(upstream: Upstream, gateway: Running) -> None:
    cases = {
        "in chunks": [head(200, "text/event-stream"), *chunked(EVENTS[:2]), CUT],
        "with a length": [head(200, "text/event-stream", "content-length: 9999", chunks=False) + WHOLE, CUT],
    }
    for number, (name, steps) in enumerate(cases.items(), 1):
        upstream.script = lambda _, steps=steps: steps  # type: ignore[misc]
        with pytest.raises(http.client.IncompleteRead) as broken:
            gateway.ask(PATH, b"{}")
        call = gateway.calls(number)[-1]
        assert call.end is not None
        assert (name, call.end.outcome) == (name, "broken")
        assert call.end.error == "its answer broke off before its end"
        assert call.response == broken.value.partial
        assert WHOLE.startswith(call.response)
        assert call.response


def test_an_upstream_out_of_reach_is_told_in_the_words_of_its_api(tmp_path: Path) -> None:
    with out_of_reach() as address, running(tmp_path, address) as gateway:
        bodies = {}
        for path in (PATH, "/openai/v1/responses", "/gemini/v1beta/models/m:generateContent", "/ollama/api/chat"):
            status, headers, body = gateway.ask(path, b"{}")
            assert (status, headers["content-type"]) == (502, "application/json"), path
            bodies[path.split("/")[1]] = json.loads(body)
        assert bodies["anthropic"]["type"] == "error"
        assert bodies["anthropic"]["error"]["type"] == "api_error"
        assert bodies["openai"]["error"]["code"] == "upstream_unreachable"
        assert bodies["gemini"]["error"]["status"] == "UNAVAILABLE"
        assert address in bodies["ollama"]["error"]
        assert [call.end.outcome for call in gateway.calls(4) if call.end] == ["unreachable"] * 4


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_what_an_upstream_out_of_reach_was_asked_is_recorded(tmp_path: Path, encoding: str) -> None:
    asked = json.dumps({"messages": ["word " * 100_000]}).encode()
    body = gzip.compress(asked) if encoding else asked
    with out_of_reach() as address, running(tmp_path, address) as gateway:
        pieces = (body[at : at + 50_000] for at in range(0, len(body), 50_000))
        for sent in (body, pieces):  # with its length, and in chunks
            assert gateway.ask(PATH, sent, {"Content-Encoding": encoding} if encoding else {})[0] == 502
        for call in gateway.calls(2):
            assert (call.is_sent, call.request) == (True, asked)
            assert call.end is not None
            assert (call.end.outcome, call.end.request_bytes) == ("unreachable", len(body))


def test_of_a_question_that_broke_off_on_its_way_the_record_has_no_hole(tmp_path: Path) -> None:
    asked = json.dumps([*range(1_000_000)]).encode()

    def take_a_little(listener: socket.socket) -> None:
        taken, _ = listener.accept()
        taken.recv(1000)
        taken.close()  # with bytes unread: a reset

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        upstream = threading.Thread(target=take_a_little, args=(listener,))
        upstream.start()
        with running(tmp_path, f"http://127.0.0.1:{listener.getsockname()[1]}") as gateway:
            assert gateway.ask(PATH, asked)[0] == 502
            upstream.join()
            [call] = gateway.calls(1)
    assert not call.is_sent
    assert len(call.request) < len(asked)
    assert asked.startswith(call.request)


def test_a_client_that_goes_before_its_question_is_whole_is_not_waited_for(tmp_path: Path) -> None:
    with out_of_reach() as address, running(tmp_path, address) as gateway:
        with socket.create_connection(("127.0.0.1", gateway.port)) as client:
            client.sendall(
                f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{gateway.port}\r\nContent-Length: 99\r\n\r\n{{".encode()
            )
            time.sleep(0.1)
        [call] = gateway.calls(1)
        assert call.end is not None
        assert (call.is_sent, call.end.outcome, gateway.health()["open"]) == (False, "client gone", 0)


def test_an_upstream_that_closes_within_the_head_of_its_answer_is_told_without_the_headers_that_came(
    upstream: Upstream, gateway: Running
) -> None:
    for number, sent in enumerate((b"", b"HTTP/1.1 200 OK\r\nSet-Cookie: login=secret\r\ncontent-type: te"), 1):
        upstream.script = lambda _, sent=sent: [sent, CUT]  # type: ignore[misc]
        status, _, body = gateway.ask(PATH, b"{}")
        reason = "it closed the connection before its answer began"
        said = json.loads(body)["error"]["message"]
        assert (status, said) == (502, f"headish cannot reach {upstream.url}: {reason}")
        call = gateway.calls(number)[-1]
        assert call.end is not None
        assert (call.end.outcome, call.end.error) == ("unreachable", reason)
    assert b"login" not in gateway.spooled()


def test_why_an_upstream_gave_no_answer_is_told_in_one_line(tmp_path: Path) -> None:
    """What aiohttp says quotes the whole answer with a mark below the place, or its own settings."""
    event = b'data: {"id": "chatcmpl-1"}\n\n'
    odd = {
        event: "its answer is not valid HTTP (Bad status line)",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n": (
            "its answer is not valid HTTP (Transfer-Encoding can't be present with Content-Length)"
        ),
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n": "its answer is not valid HTTP (Invalid header token)",
    }
    for sent, reason in odd.items():
        with Upstream(lambda _, sent=sent: [sent]) as upstream, running(tmp_path / str(len(sent)), upstream) as gateway:
            status, _, body = gateway.ask("/openai/v1/responses", b"{}")
            assert (status, json.loads(body)["error"]["message"]) == (
                502,
                f"headish cannot reach {upstream.url}: {reason}",
            )
            [call] = gateway.calls(1)
            assert call.end is not None
            assert call.end.error == reason
    with out_of_reach() as address, running(tmp_path / "closed", address) as gateway:
        _, _, body = gateway.ask("/openai/v1/responses", b"{}")
        assert json.loads(body)["error"]["message"] == f"headish cannot reach {address}: Connection refused"
    with running(tmp_path / "name", "https://nosuch.invalid") as gateway:
        _, _, body = gateway.ask("/openai/v1/responses", b"{}")
        message = json.loads(body)["error"]["message"]
        assert message.startswith("headish cannot reach https://nosuch.invalid: ")
        assert "ssl:" not in message


def test_nothing_is_tried_again(upstream: Upstream, gateway: Running) -> None:
    upstream.script = lambda _: [CUT]
    for method in ("POST", "GET"):
        before = len(upstream.asked)
        status, _, _ = gateway.ask(PATH, b"{}" if method == "POST" else None)
        assert (method, status, len(upstream.asked) - before) == (method, 502, 1)


def test_a_client_that_goes_away_ends_the_upstream_request(upstream: Upstream, gateway: Running) -> None:
    """Before the answer has begun, and in the middle of it; what arrived is kept."""

    def thinking(_: Asked) -> Iterator[Step]:
        while True:
            yield 0.01

    def speaking(_: Asked) -> Iterator[Step]:
        yield head(200, "text/event-stream")
        yield from chunked(EVENTS[:2])
        while True:
            yield 0.01

    for number, script in enumerate((thinking, speaking), 1):
        upstream.script = script
        upstream.gone.clear()
        with socket.create_connection(("127.0.0.1", gateway.port)) as client:
            host = f"Host: 127.0.0.1:{gateway.port}\r\n"
            client.sendall(f"POST {PATH} HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\n{{}}".encode())
            received = b""
            while script is speaking and EVENTS[1] not in received:
                received += client.recv(2**16)
            until = time.monotonic() + 60
            while len(upstream.asked) < number and time.monotonic() < until:
                time.sleep(0.001)
        assert upstream.gone.wait(60)
        call = gateway.calls(number)[-1]
        assert call.end is not None
        assert (call.end.outcome, call.request) == ("client gone", b"{}")
        assert call.response == (b"".join(EVENTS[:2]) if script is speaking else b"")


def test_redirects_are_the_clients_to_follow(upstream: Upstream, gateway: Running) -> None:
    upstream.script = lambda _: answer(b"", 307, "text/plain", "location: http://127.0.0.1:9/elsewhere")
    status, headers, _ = gateway.ask(PATH, b"{}")
    assert (status, headers["location"], len(upstream.asked)) == (307, "http://127.0.0.1:9/elsewhere", 1)


def test_a_redirect_to_a_path_of_the_provider_leads_back_through_the_gateway(
    tmp_path: Path, upstream: Upstream
) -> None:
    """Servers in Go answer so to a path with two slashes. Elsewhere on this host is nothing of the provider's."""
    upstream.asked.clear()

    def move(asked: Asked) -> list[Step]:
        moved = asked.target.replace("/old", "/new")
        return answer(b"{}") if "/new" in asked.target else answer(b"", 307, "text/plain", f"Location: {moved}")

    upstream.script = move
    with running(tmp_path, f"{upstream.url}/base") as gateway:
        for api in ("anthropic", "ollama"):
            status, headers, _ = gateway.ask(f"/{api}/v1/old?a=%20", b"{}")
            assert (status, headers["location"]) == (307, f"/{api}/v1/new?a=%20")
            assert gateway.ask(headers["location"], b"{}")[0] == 200
        assert [each.target for each in upstream.asked] == ["/base/v1/old?a=%20", "/base/v1/new?a=%20"] * 2
        for elsewhere in ("//other.example/base/x", "/basement", "/", "new", "?b", "https://other.example/base/x"):
            upstream.script = lambda _, to=elsewhere: answer(b"", 302, "text/plain", f"location: {to}")  # type: ignore[misc]
            assert gateway.ask(PATH, b"{}")[1]["location"] == elsewhere


def test_answers_without_a_body_have_none(upstream: Upstream, gateway: Running) -> None:
    upstream.script = lambda _: [b"HTTP/1.1 204 No Content\r\n\r\n"]
    assert gateway.ask(PATH, b"{}") == (204, {}, b"")
    upstream.script = lambda _: [b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n"]
    status, headers, body = gateway.ask("/openai/v1/models", method="HEAD")
    assert (status, headers["content-length"], body) == (200, "99", b"")
    assert [call.end and call.end.first_byte_at for call in gateway.calls(2)] == [None, None]


def test_paths_lead_to_their_apis_and_others_nowhere(upstream: Upstream, gateway: Running) -> None:
    upstream.script = lambda _: answer(b"{}")

    def leads(path: str, target: str) -> None:
        assert gateway.ask(path)[0] == 200
        assert upstream.asked[-1].target == target

    cases = [
        (PATH, "/v1/messages"),
        ("/openai/v1/responses?a=1", "/v1/responses?a=1"),
        ("/gemini/v1beta/models/m:generateContent", "/v1beta/models/m:generateContent"),
        ("/ollama", "/"),
        ("/ollama/", "/"),
    ]
    assert not [*failing(cases, leads)]

    def leads_nowhere(path: str) -> None:
        assert gateway.ask(path)[0] == 404

    asked = len(upstream.asked)
    assert not [*failing([(each,) for each in ("/", "/v1/messages", "/to/", "/to/x/y", "/healthz/")], leads_nowhere)]
    assert len(upstream.asked) == asked


def test_a_call_that_meets_an_unexpected_error_has_an_end(
    upstream: Upstream, gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script = lambda _: answer(b"{}")
    with monkeypatch.context() as patch:
        patch.setattr("headish.gateway.passing.proxy.dress", lambda *_: {}["a key of the call"])
        assert gateway.ask(PATH, b"{}")[0] == 500
    assert gateway.ask(PATH, b"{}")[0] == 200
    ends = [call.end for call in gateway.calls(2) if call.end]
    assert [(end.outcome, end.error) for end in ends] == [("broken", "an unexpected error (KeyError)"), ("ok", None)]
    assert gateway.health()["open"] == 0


def test_nothing_is_sent_to_an_upstream_whose_certificate_nobody_vouches_for(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.asked.clear()
    with relayed(context=make_certificate(tmp_path)[1]) as relay:
        relay.target = upstream.port
        with running(tmp_path, f"https://127.0.0.1:{relay.port}") as gateway:
            status, _, body = gateway.ask(PATH, b"{}", {"Content-Type": "application/json", "X-Api-Key": "a key"})
            [call] = gateway.calls(1)
    assert (status, upstream.asked) == (502, [])
    assert b"CERTIFICATE_VERIFY_FAILED" in body, body
    assert call.end is not None
    assert call.end.outcome == "unreachable", call.end


def test_the_certificates_of_a_company_are_named_by_the_environment(upstream: Upstream, tmp_path: Path) -> None:
    upstream.script = lambda _: answer(b"{}")
    certificate, context = make_certificate(tmp_path)
    with relayed(context=context) as relay:
        relay.target = upstream.port
        asked = subprocess.run(  # aiohttp reads them once in a process
            [sys.executable, "-c", ASKS_BY_A_GATEWAY, str(tmp_path / "gateway"), f"https://127.0.0.1:{relay.port}"],
            env=os.environ | {"SSL_CERT_FILE": str(certificate), "PYTHONPATH": str(TESTS)},
            capture_output=True,
            text=True,
            check=True,
        )
    assert asked.stdout.split() == ["200"], asked
