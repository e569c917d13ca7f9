"""A key goes to its provider and to nobody else, comes from nowhere but the environment and the keyring, and hides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringLocked

from headish.calls import ENDPOINTS, find_key
from headish.errors import InvalidAddress, InvalidArgument, InvalidKey, MissingKey, UnknownFormat
from headish.values.checks.addresses import parse_address

LOCAL = "http://127.0.0.1:11434/v1"
Put = Callable[[str, str], None]


class Shelf(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password


class LockedShelf(Shelf):
    """A keyring that asks for a password nobody types."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("locked")


@pytest.fixture(autouse=True)
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    """An empty keyring, and no key in the environment."""
    for endpoint in ENDPOINTS.values():
        for variable in endpoint.key_variables:
            monkeypatch.delenv(variable, raising=False)
    before, shelf = keyring.get_keyring(), Shelf()
    keyring.set_keyring(shelf)
    yield shelf
    keyring.set_keyring(before)


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Put:
    """Sets an environment variable for the test."""
    return monkeypatch.setenv


class TestWhereKeysAreLookedFor:
    @pytest.mark.parametrize("provider", ENDPOINTS)
    def test_the_variables_are_looked_at_in_order(self, provider: str, put: Put) -> None:
        for variable in reversed(ENDPOINTS[provider].key_variables):
            put(variable, f"from-{variable}")
            assert find_key(provider) == f"from-{variable}"

    def test_the_keyring_comes_after_the_environment(self, shelf: Shelf, put: Put) -> None:
        shelf.set_password("headish", "cohere", "kept")
        assert find_key("cohere") == "kept"
        put("CO_API_KEY", "set")
        assert find_key("cohere") == "set"

    def test_an_empty_variable_holds_no_key(self, put: Put) -> None:
        put("CO_API_KEY", "")
        put("COHERE_API_KEY", "second")
        assert find_key("cohere") == "second"

    def test_both_apis_of_openai_share_an_entry_of_the_keyring(self, shelf: Shelf) -> None:
        shelf.set_password("headish", "openai", "shared")
        assert find_key("openai_responses") == "shared"
        shelf.set_password("headish", "openai_responses", "own")
        assert (find_key("openai_responses"), find_key("openai")) == ("own", "shared")

    def test_a_missing_key_is_an_error_that_says_where_it_was_looked_for(self) -> None:
        with pytest.raises(MissingKey, match=r"CO_API_KEY.*COHERE_API_KEY.*service headish, user cohere") as caught:
            find_key("cohere")
        assert len(caught.value.looked_at) == 3
        assert caught.value.provider == "cohere"

    @pytest.mark.parametrize("backend", [LockedShelf, fail.Keyring])
    def test_a_keyring_that_fails_holds_no_key(self, backend: type[KeyringBackend]) -> None:
        keyring.set_keyring(backend())
        with pytest.raises(MissingKey):
            find_key("anthropic")

    def test_keyring_need_not_be_installed(self, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "keyring", None)
        with pytest.raises(MissingKey):
            find_key("anthropic")
        put("ANTHROPIC_API_KEY", "set")
        assert find_key("anthropic") == "set"

    def test_a_named_key_is_looked_for_there_alone(self, shelf: Shelf, put: Put) -> None:
        put("OPENAI_API_KEY", "usual")
        put("WORK_KEY", "work")
        shelf.set_password("headish", "gateway", "kept")
        assert find_key("openai", key_env="WORK_KEY") == "work"
        assert find_key("openai", key_env="keyring:gateway") == "kept"
        for absent, place in (("OTHER_KEY", "variable OTHER_KEY"), ("keyring:other", "user other")):
            with pytest.raises(MissingKey, match=place) as caught:
                find_key("openai", base_url=LOCAL, key_env=absent)
            assert len(caught.value.looked_at) == 1

    def test_an_unknown_provider_is_refused(self) -> None:
        with pytest.raises(UnknownFormat, match="anthropic, cerebras"):
            find_key("nobody")


class TestWhereKeysMayGo:
    @pytest.mark.parametrize("provider", ENDPOINTS)
    @pytest.mark.parametrize(
        "base_url", [LOCAL, "https://example.com", "https://api.openai.com.example.com/v1", "https://localhost"]
    )
    def test_a_usual_key_goes_to_no_other_host(self, provider: str, base_url: str, shelf: Shelf, put: Put) -> None:
        for variable in ENDPOINTS[provider].key_variables:
            put(variable, "usual")
        shelf.set_password("headish", provider, "usual")
        assert find_key(provider, base_url=base_url) is None

    @pytest.mark.parametrize(
        "base_url",
        ["http://api.openai.com/v1", "https://api.openai.com:8443/v1", "https://eu.api.openai.com/v1",
         "https://api.openai.com./v1"],
    )  # fmt: skip
    def test_the_providers_own_host_is_the_very_same(self, base_url: str, put: Put) -> None:
        put("OPENAI_API_KEY", "usual")
        assert find_key("openai", base_url=base_url) is None
        assert find_key("openai", base_url="https://API.openai.com:443/v1/") == "usual"

    def test_a_named_key_goes_where_it_is_sent(self, put: Put) -> None:
        put("GATEWAY_KEY", "named")
        for base_url in (LOCAL, "http://localhost:8080", "http://[::1]:80/", "https://gateway.example.com/a/b"):
            assert find_key("openai", base_url=base_url, key_env="GATEWAY_KEY") == "named"

    @pytest.mark.parametrize("host", ["10.0.0.1", "example.com", "127.0.0.1.example.com", "localhost.example.com"])
    def test_no_key_travels_unencrypted_to_another_machine(self, host: str, put: Put) -> None:
        put("GATEWAY_KEY", "named")
        with pytest.raises(InvalidAddress, match="unencrypted"):
            find_key("openai", base_url=f"http://{host}/v1", key_env="GATEWAY_KEY")
        assert find_key("openai", base_url=f"http://{host}/v1") is None


class TestAddresses:
    @pytest.mark.parametrize(
        "base_url",
        ["", "example.com", "ftp://example.com", "https://", "https:///v1", "https://a b", "https://example.com?x=1",
         "https://example.com/#x", "https://example.com\\@other.com", "https://other.com\n", "https://exämple.com",
         "https://example.com:99999", "https://example.com:0", "https://[::1", "//example.com", "https://a:b:c",
         "https://a..b", "https://.a", f"https://{'a' * 64}.example.com"],
    )  # fmt: skip
    def test_what_is_no_plain_base_url_is_refused(self, base_url: str) -> None:
        with pytest.raises(InvalidAddress):
            parse_address(base_url)

    def test_a_password_in_a_url_is_refused_and_not_shown(self) -> None:
        for base_url in (
            "https://me:hunter2@example.com/v1",
            "https://hunter2@example.com",
            "https://a@hunter2@example.com",
            "https://example.com/v1?key=hunter2",
            "https://example.com/#hunter2",
        ):
            with pytest.raises(InvalidAddress, match=r"example\.com.*cannot be called") as caught:
                parse_address(base_url)
            assert "hunter2" not in str(caught.value) + repr(caught.value.__dict__)

    def test_an_address_is_taken_apart(self) -> None:
        address = parse_address("HTTPS://Example.COM:8443/Path/v1/")
        assert (address.origin, address.path) == ("https://example.com:8443", "/Path/v1")
        assert parse_address("http://127.0.0.1:80").origin == "http://127.0.0.1"


class TestKeysHide:
    def test_a_key_does_not_show_itself(self, put: Put) -> None:
        put("OPENAI_API_KEY", "sk-secret")
        key = find_key("openai")
        assert key == "sk-secret"
        assert "secret" not in repr(key) + repr({"key": [key]}) + f"{key!r}"

    @pytest.mark.parametrize("key", ["sk-secret\n", "sk-sec ret", "sk-sécret", "\x7fsk-secret", "sk-secret\r\nx: y"])
    def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(self, key: str, put: Put) -> None:
        put("OPENAI_API_KEY", key)
        with pytest.raises(InvalidKey, match="the environment variable OPENAI_API_KEY cannot be sent") as caught:
            find_key("openai")
        assert "cret" not in str(caught.value)

    @pytest.mark.parametrize("given", ["sk-secret", "secret key", "", "keyring:", "9SECRET"])
    def test_a_key_in_place_of_its_name_is_refused_and_not_shown(self, given: str) -> None:
        with pytest.raises(InvalidArgument, match="keyring:NAME") as caught:
            find_key("openai", key_env=given)
        assert "secret" not in str(caught.value).lower()
