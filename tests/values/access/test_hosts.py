"""Hosts and origins: what a request says of where it was sent to, and from."""

from __future__ import annotations

import pytest

from headish.errors import InvalidAddress, InvalidArgument
from headish.values.access.hosts import (
    Sender,
    check_networks,
    is_from,
    is_origin_form,
    known_hosts,
    local_url,
    may_change,
    own_networks,
    own_origin,
    sender_of,
)
from support.loops import failing

OWN = "http://127.0.0.1:8321"
KNOWN = known_hosts(8321, ["https://notes.example.org", "http://tunnel.example:8080"])


def headers(*pairs: tuple[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in pairs]


def test_a_server_answers_to_its_own_names_alone() -> None:
    def check(host: str, origin: str | None) -> None:
        assert own_origin(headers(("host", host)), KNOWN) == origin

    cases = [
        ("127.0.0.1:8321", OWN),
        ("LOCALHOST:8321", "http://localhost:8321"),
        ("[::1]:8321", "http://[::1]:8321"),
        ("notes.example.org", "https://notes.example.org"),
        ("notes.example.org:443", "https://notes.example.org"),
        ("tunnel.example:8080", "http://tunnel.example:8080"),
        ("tunnel.example", None),
        ("notes.example.org:8321", None),
        ("evil.example:8321", None),
        ("evil.example", None),
        ("127.0.0.1:8322", None),
        ("127.0.0.1", None),
        ("127.0.0.1:8321.evil.example", None),
        ("evil@127.0.0.1:8321", None),
        ("127.0.0.1:8321, evil.example", None),
        ("localhost.:8321", None),
        ("", None),
    ]
    assert failing(cases, check) == {}


def test_a_server_answers_to_the_address_on_which_it_listens() -> None:
    def check(host: str, asked: str, origin: str | None) -> None:
        assert own_origin(headers(("host", asked)), known_hosts(8321, host=host)) == origin

    cases = [
        ("192.0.2.7", "192.0.2.7:8321", "http://192.0.2.7:8321"),
        ("192.0.2.7", "127.0.0.1:8321", OWN),
        ("192.0.2.7", "192.0.2.8:8321", None),
        ("Notes.lan", "notes.lan:8321", "http://notes.lan:8321"),
        ("2001:db8::7", "[2001:db8::7]:8321", "http://[2001:db8::7]:8321"),
        ("[2001:db8::7]", "[2001:DB8::7]:8321", "http://[2001:db8::7]:8321"),
        ("2001:0DB8::0007", "[2001:db8::7]:8321", "http://[2001:db8::7]:8321"),
        ("[2001:db8:0:0:0:0:0:7]", "[2001:db8::7]:8321", "http://[2001:db8::7]:8321"),
        ("::ffff:192.0.2.7", "192.0.2.7:8321", "http://192.0.2.7:8321"),
        ("0.0.0.0", "0.0.0.0:8321", None),
        ("::", "[::]:8321", None),
        ("0:0:0:0:0:0:0:0", "[0:0:0:0:0:0:0:0]:8321", None),
        ("[0::0]", "[::]:8321", None),
    ]
    assert failing(cases, check) == {}


def test_the_address_that_is_shown_is_one_to_which_the_server_answers() -> None:
    def check(host: str, shown: str) -> None:
        assert local_url(host, 8321) == f"http://{shown}:8321"
        assert own_origin(headers(("host", f"{shown}:8321".lower())), known_hosts(8321, host=host)) is not None

    cases = [
        ("192.0.2.7", "192.0.2.7"),
        ("Notes.lan", "Notes.lan"),
        ("[2001:0db8::0007]", "[2001:db8::7]"),
        ("2001:DB8:0:0:0:0:0:7", "[2001:db8::7]"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("0:0:0:0:0:0:0:1", "[::1]"),
        ("0.0.0.0", "127.0.0.1"),
        ("::ffff:0.0.0.0", "127.0.0.1"),
        ("[::]", "[::1]"),
        ("0:0:0:0:0:0:0:0", "[::1]"),
    ]
    assert failing(cases, check) == {}


def test_a_machine_asks_its_own_server_from_the_address_on_which_it_listens() -> None:
    def check(host: str, peer: str, expected: bool) -> None:
        assert is_from(peer, own_networks(host)) is expected

    cases = [
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("[2001:db8::7]", "2001:db8::7", True),
        ("notes.lan", "192.0.2.7", False),
        ("0.0.0.0", "192.0.2.7", False),
        ("::", "2001:db8::7", False),
        ("192.0.2.7", "127.0.0.1", True),
    ]
    assert failing(cases, check) == {}


def test_no_host_or_two_are_none() -> None:
    assert own_origin([], KNOWN) is None
    assert own_origin(headers(("host", "127.0.0.1:8321"), ("host", "127.0.0.1:8321")), KNOWN) is None


def test_on_the_port_of_the_scheme_the_host_may_leave_it_out() -> None:
    assert known_hosts(80)["localhost"] == known_hosts(80)["localhost:80"] == "http://localhost"


def test_a_public_url_is_an_origin() -> None:
    with pytest.raises(InvalidArgument, match="without a path"):
        known_hosts(1, ["https://example.org/headish"])
    with pytest.raises(InvalidAddress):
        known_hosts(1, ["example.org"])


def test_a_login_that_a_browser_adds_by_itself_changes_nothing_for_another_page() -> None:
    def check(method: str, may: bool, *pairs: tuple[str, str]) -> None:
        assert may_change(method, headers(*pairs), OWN) is may

    site, origin = "sec-fetch-site", "origin"
    cases = [
        ("POST", False, (site, "same-origin"), (origin, "null")),
        ("POST", False, (site, "cross-site"), (origin, "null")),
        ("GET", True, (site, "cross-site")),
        ("POST", True, (site, "same-origin")),
        ("POST", True, (site, "same-origin"), (origin, OWN)),
        ("POST", True, (origin, OWN)),
        ("POST", True, (origin, OWN.upper())),
        ("POST", False),
        ("POST", False, (site, "same-site"), (origin, OWN)),
        ("POST", False, (site, "cross-site")),
        ("POST", False, (site, "none")),
        ("POST", False, (site, "same-origin"), (site, "cross-site")),
        ("POST", False, (site, "same-origin"), (origin, "http://127.0.0.1:9999")),
        ("POST", False, (origin, "null")),
        ("POST", False, (origin, "http://localhost:8321")),
        ("POST", False, (origin, OWN), (origin, "https://evil.example")),
        ("DELETE", False, (origin, "https://evil.example")),
        ("PUT", False, (origin, OWN + ".evil.example")),
        ("get", False),
    ]
    assert failing(cases, check) == {}


def test_what_a_browser_sends_for_another_page_is_told_from_a_program() -> None:
    def check(sender: Sender, *pairs: tuple[str, str]) -> None:
        assert sender_of(headers(*pairs), {OWN, "app://obsidian.md"}) == sender

    site, origin = "sec-fetch-site", "origin"
    cases = [
        ("none",),
        ("none", (site, "none")),
        ("own", (site, "same-origin")),
        ("own", (origin, OWN)),
        ("own", (site, "cross-site"), (origin, "app://obsidian.md")),
        ("other", (site, "cross-site")),
        ("other", (site, "same-site")),
        ("other", (site, "same-origin"), (origin, "https://evil.example")),
        ("other", (origin, "null")),
        ("other", (origin, OWN), (origin, OWN)),
        ("other", (site, "anything")),
    ]
    assert failing(cases, check) == {}


def test_the_target_of_a_request_is_a_path() -> None:
    good = [b"/", b"/api/v1/get?x=http://a/"]
    bad = [b"http://evil.example/", b"//evil.example/", b"evil", b"*", b""]
    assert [is_origin_form(each) for each in good + bad] == [True] * len(good) + [False] * len(bad)


def test_a_peer_is_from_a_network_or_not() -> None:
    assert is_from("10.1.2.3", ["192.168.0.0/16", "10.0.0.0/8"])
    assert is_from("::ffff:10.1.2.3", ["10.0.0.0/8"])
    assert is_from("fd00::1", ["fd00::/8"])
    assert not is_from("11.0.0.1", ["10.0.0.0/8"])
    assert not is_from("", ["10.0.0.0/8"])
    assert not is_from("10.1.2.3, 11.0.0.1", ["10.0.0.0/8"])


def test_what_is_no_network_is_refused() -> None:
    for each in ("10.0.0.1/8", "proxy", ""):
        with pytest.raises(InvalidArgument, match="network"):
            check_networks([each])
