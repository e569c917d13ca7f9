"""Who is let in: attacks on a web process that listens on a socket."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headish.errors import InvalidArgument
from headish.serve.access.guarding import BODY_LIMIT_BYTES, CSP
from headish.serve.access.settings import WebSettings
from headish.serve.processes.settings import ServeSettings
from headish.serve.web import running
from support.loops import failing
from support.serving import Served, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder / "talk.db", folder / "state", public_urls=("https://notes.example.org",)) as made:
        yield made


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def get(path: str, host: str, *lines: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {host}", *lines, "Connection: close", "", ""]).encode()


def test_a_rebound_name_gets_421_and_nothing_else(served: Served) -> None:
    """Even the login is not looked at: an attacker's page may have a code."""
    code = served.logins.make_code()
    for path in ("/", f"/login?code={code}", "/assets/x.js"):
        answer = served.ask(get(path, f"evil.example:{served.settings.port}"))
        assert status(answer) == 421
        assert b"--public-url" in answer
    assert served.stranger().get("/login", params={"code": code}).status_code == 200


def test_a_websocket_passes_the_same_check(served: Served) -> None:
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13")
    assert status(served.ask(get("/live", "evil.example", *upgrade))) == 421


def test_malformed_and_doubled_requests_are_refused(served: Served) -> None:
    own = f"127.0.0.1:{served.settings.port}"

    def check(wanted: int, raw: bytes) -> None:
        assert status(served.ask(raw)) == wanted

    post = f"POST /logout HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n".encode()
    cases = [
        (400, f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: {own}\r\nConnection: close\r\n\r\n".encode()),
        (400, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
        (421, b"GET / HTTP/1.0\r\n\r\n"),
        (400, get("http://evil.example/", own)),
        (400, get(f"http://{own}/", own)),
        (400, get("//evil.example/", own)),
        (421, get("http://127.0.0.1/", "evil.example")),
        (400, post + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (400, post + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde"),
        (400, post + b"X: a\r\n\tb\0\r\n\r\n"),
        (400, post + b"X : y\r\n\r\n"),
        (401, get("/../../etc/passwd", own)),
        (404, get("/assets%2f..%2f", own)),
        (404, get("/assets/../api/v1/stats", own)),
        (401, get("/login/../x", own)),
    ]
    assert failing(cases, check) == {}


def test_without_a_login_nothing_is_there(served: Served) -> None:
    for path in ("/", "/nothing", "/api/v1/stats", "/login/x", "/loginx"):
        answer = served.stranger().get(path)
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "NotAdmitted"


def test_every_answer_has_the_headers(served: Served) -> None:
    answers = [
        served.stranger().get("/"),
        served.stranger().get("/", headers={"Host": "evil.example"}),
        served.stranger().get("/login", params={"code": served.logins.make_code()}),
        served.client().get("/nothing"),
        served.client().post("/logout"),
        served.client().post("/logout", content=b"x" * (BODY_LIMIT_BYTES + 1)),
    ]
    assert [each.status_code for each in answers] == [401, 421, 200, 404, 200, 413]
    for answer in answers:
        assert answer.headers["content-security-policy"] == CSP
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_the_printed_address_logs_in_once_with_a_cookie_that_scripts_and_other_sites_do_not_get(served: Served) -> None:
    code = served.logins.make_code()
    client = served.stranger()
    assert client.head("/login", params={"code": code}).status_code == 405
    answer = client.get("/login", params={"code": code})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"headish_{served.settings.port}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=2592000"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert answer.headers["cache-control"] == "no-store"
    assert client.get("/nothing").status_code == 404
    assert served.stranger().get("/login", params={"code": code}).status_code == 403
    behind = served.stranger(headers={"Host": "notes.example.org"})
    assert "; Secure" in behind.get("/login", params={"code": served.logins.make_code()}).headers["set-cookie"]


def test_a_form_of_another_page_changes_nothing(served: Served) -> None:
    client = served.client()
    other = f"http://127.0.0.1:{served.settings.port + 1}"
    for sent in (
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": other},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    ):
        answer = client.post("/logout", headers=sent)
        assert (answer.status_code, answer.json()["code"]) == (403, "CrossSite")
    del client.headers["Sec-Fetch-Site"]
    assert client.post("/logout").status_code == 403
    assert client.post("/logout", headers={"Origin": other}).status_code == 403
    assert client.get("/nothing").status_code == 404, "it is still logged in"
    assert client.post("/logout", headers={"Origin": served.url}).status_code == 200
    assert client.get("/nothing").status_code == 401


def test_a_cookie_of_another_server_or_a_planted_one_is_worth_nothing(served: Served, tmp_path: Path) -> None:
    name = served.settings.cookie
    session = served.client().cookies[name]
    assert served.stranger(headers={"Cookie": f"{name}={session}"}).get("/nothing").status_code == 404
    for sent in (f"headish_1={session}", f"{name}={session}; {name}=planted", f"{name}=", f"{name}=%00", f"x{name}=1"):
        assert served.stranger(headers={"Cookie": sent}).get("/nothing").status_code == 401
    with serving(tmp_path / "other.db", tmp_path / "state") as other:
        sent = f"{other.settings.cookie}={session}"
        assert other.stranger(headers={"Cookie": sent}).get("/nothing").status_code == 401


def test_a_wrong_token_is_refused_even_beside_a_good_cookie(served: Served) -> None:
    for sent in ("Bearer nothing", "Basic YTpi", "Bearer", "hdsh_x", "Bearer \xff"):
        answer = served.client().get("/nothing", headers={"Authorization": sent.encode("latin-1")})
        assert (answer.status_code, answer.json()["code"]) == (401, "WrongToken")


def test_wrong_tokens_and_codes_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path / "talk.db", tmp_path / "state") as served:
        client = served.client()
        statuses = [
            served.stranger(headers={"Authorization": "Bearer x"}).get("/nothing").status_code for _ in range(19)
        ]
        statuses.append(served.stranger().get("/login?code=x").status_code)
        assert statuses == [401] * 19 + [403]
        for path in ("/nothing", "/login?code=x"):
            answer = served.stranger(headers={"Authorization": "Bearer x"}).get(path)
            assert answer.status_code == 429
            assert 0 < int(answer.headers["retry-after"]) <= 61
        assert client.get("/nothing").status_code == 404, "whoever is logged in goes on"
        assert served.client().get("/nothing").status_code == 404, "whoever has a right code is let in"


def test_a_large_body_is_refused_by_its_length_or_where_it_becomes_too_large(served: Served) -> None:
    own = f"POST /logout HTTP/1.1\r\nHost: 127.0.0.1:{served.settings.port}\r\nConnection: close\r\n"
    cookie = f"Cookie: {served.settings.cookie}={served.client().cookies[served.settings.cookie]}\r\n"
    told = f"Sec-Fetch-Site: same-origin\r\nContent-Length: {BODY_LIMIT_BYTES + 1}\r\n\r\n"
    assert status(served.ask((own + cookie + told).encode())) == 413


def test_a_head_that_does_not_end_is_hung_up_on(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "HEAD_SECONDS", 0.2)
    address = ("127.0.0.1", served.settings.port)
    for sent in (b"", b"GET / HT", get("/", f"127.0.0.1:{served.settings.port}").replace(b"close", b"x") + b"GET /"):
        with socket.create_connection(address, timeout=60) as connection:
            connection.sendall(sent)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
            assert answer.count(b"HTTP/1.1 401") == sent.count(b"\r\n\r\n"), "only a whole request is answered"


def test_a_body_that_is_not_http_gets_one_answer_and_no_traceback(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """It may come while the answer is under way, or after it."""
    cookie = f"{served.settings.cookie}={served.client().cookies[served.settings.cookie]}"
    head = (
        f"POST /api/v1/add_turn HTTP/1.1\r\nHost: 127.0.0.1:{served.settings.port}\r\nSec-Fetch-Site: same-origin\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    )
    logged_in = f"{head}Cookie: {cookie}\r\n"
    for begin, wanted in ((head, {400, 401}), (logged_in, {400})):
        for first, then in (("ZZ\r\nabc\r\n", ""), ("2\r\n{}XX\r\n0\r\n\r\n", ""), ("2\r\n{ \r\n", "ZZ\r\n")):
            with socket.create_connection(("127.0.0.1", served.settings.port), timeout=60) as connection:
                connection.sendall(f"{begin}\r\n{first}".encode())
                time.sleep(0.1)
                connection.sendall(then.encode())
                answer = b""
                while piece := connection.recv(65536):
                    answer += piece
            assert status(answer) in wanted
            assert answer.count(b"HTTP/1.1") == 1
    with socket.create_connection(("127.0.0.1", served.settings.port), timeout=60) as connection:
        connection.sendall(f"{logged_in}\r\n2\r\n{{ \r\n".encode())
        time.sleep(0.1)  # and goes away in the middle of its body
    assert served.client().get("/nothing").status_code == 404
    assert [record.message for record in caplog.records if record.exc_info] == []


def test_a_server_on_all_addresses_is_asked_at_loopback() -> None:
    for host, url in (
        ("127.0.0.1", "http://127.0.0.1:8322"),
        ("localhost", "http://localhost:8322"),
        ("0.0.0.0", "http://127.0.0.1:8322"),
        ("::", "http://[::1]:8322"),
        ("[::]", "http://[::1]:8322"),
        ("::1", "http://[::1]:8322"),
        ("[::1]", "http://[::1]:8322"),
    ):
        assert ServeSettings(target="a.db", host=host).web.gateway == url


def test_another_machine_needs_a_proxy_in_front() -> None:
    def check(words: str, **settings: object) -> None:
        with pytest.raises(InvalidArgument, match=words):
            WebSettings("x", "y", **settings).check()  # type: ignore[arg-type]

    check("--behind-proxy", host="0.0.0.0")
    check("--behind-proxy", host="192.168.1.5")
    check("network", host="0.0.0.0", behind_proxy=("proxy",))
    check("--behind-proxy", user_header="x-user")
    check("template", user_space="one")
    check("template", user_space="{user}")
    check("template", user_space="{user}{user}")
    check("template", user_space="{user}{x}")
    check("begins with a word of its own", user_space="{user}x")
    check("begins with a word of its own", user_space="{user}/notes")
    WebSettings("x", "y", host="0.0.0.0", behind_proxy=("10.0.0.0/8",), user_header="x-user").check()
