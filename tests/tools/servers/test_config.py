"""Which tool servers there are: the file, the variables in it, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headish.errors import InvalidConfig
from headish.tools.servers import HttpServer, ServerConfig, StdioServer, read_config


def write(folder: Path, servers: Any) -> Path:
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def read_one(folder: Path, server: Any) -> ServerConfig:
    [read] = read_config(write(folder, {"one": server})).values()
    return read


class TestWhatIsRead:
    def test_programs_and_addresses_are_read_in_the_order_of_the_file(self, tmp_path: Path) -> None:
        servers = {
            "files": {"command": "npx", "args": ["-y", "files", "/tmp"], "env": {"MODE": "read"}, "cwd": "/srv"},
            "Bare-1": {"command": "serve"},
            "far": {"url": "https://example.org/mcp?v=1", "headers": {"Authorization": "Bearer x"}},
            "near_by": {"url": "http://127.0.0.1:8000/mcp"},
        }
        read = read_config(write(tmp_path, servers))
        assert list(read) == list(servers)
        assert read == {
            "files": StdioServer("npx", ("-y", "files", "/tmp"), {"MODE": "read"}, "/srv"),
            "Bare-1": StdioServer("serve"),
            "far": HttpServer("https://example.org/mcp?v=1", {"Authorization": "Bearer x"}),
            "near_by": HttpServer("http://127.0.0.1:8000/mcp"),
        }

    def test_keys_that_nobody_knows_are_ignored(self, tmp_path: Path) -> None:
        server = {"type": "stdio", "command": "serve", "cwd": None, "autoApprove": ["add"], "timeout": "${NOT_SET}"}
        assert read_one(tmp_path, server) == StdioServer("serve")

    def test_a_byte_order_mark_is_no_part_of_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "servers.json"
        path.write_bytes(b'\xef\xbb\xbf{"mcpServers": {}}')
        assert read_config(str(path)) == {}


class TestVariables:
    def test_they_are_taken_from_the_environment_in_every_string(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PLACE", "here")
        monkeypatch.setenv("TOKEN", "secret")
        program = {"command": "${PLACE}/run", "args": ["--at", "${PLACE}:${PLACE}"], "env": {"KEY": "${TOKEN}"}}
        address = {"url": "https://${PLACE}.org/", "headers": {"Authorization": "Bearer ${TOKEN}"}}
        assert read_one(tmp_path, program | {"cwd": "/${PLACE}"}) == StdioServer(
            "here/run", ("--at", "here:here"), {"KEY": "secret"}, "/here"
        )
        assert read_one(tmp_path, address) == HttpServer("https://here.org/", {"Authorization": "Bearer secret"})

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("${HOST_NAME:-localhost}", "localhost"),
            ("${HOST_NAME:-}", ""),
            ("${SET:-localhost}", "it"),
            ("${EMPTY:-localhost}", ""),
            ("${NESTED}", "${SET}"),
            ("$SET and ${} and ${1}", "$SET and ${} and ${1}"),
        ],
    )
    def test_a_default_stands_for_one_that_is_not_set(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
    ) -> None:
        monkeypatch.delenv("HOST_NAME", raising=False)
        for name, value in {"SET": "it", "EMPTY": "", "NESTED": "${SET}"}.items():
            monkeypatch.setenv(name, value)
        assert read_one(tmp_path, {"command": "serve", "args": [text]}) == StdioServer("serve", (expected,))

    def test_one_that_is_missing_is_told_with_its_place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("MISSING", raising=False)
        path = write(tmp_path, {"far": {"url": "https://example.org", "headers": {"Authorization": "${MISSING}"}}})
        with pytest.raises(InvalidConfig) as raised:
            read_config(path)
        assert (raised.value.file, raised.value.server) == (str(path), "far")
        assert raised.value.reason == (
            '"headers.Authorization" needs the environment variable MISSING, which is not set'
        )

    def test_a_value_that_no_header_may_have_is_refused_without_showing_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOKEN", "secret\nsecret")
        with pytest.raises(InvalidConfig, match="no HTTP header may have") as raised:
            read_one(tmp_path, {"url": "https://example.org", "headers": {"Authorization": "${TOKEN}"}})
        assert "secret" not in str(raised.value)

    def test_blanks_around_a_header_are_no_part_of_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TOKEN", "secret\n")
        server = {"url": "https://example.org", "headers": {"Authorization": "${TOKEN}"}}
        assert read_one(tmp_path, server) == HttpServer("https://example.org", {"Authorization": "secret"})


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("server", "expected"),
        [
            ([], "it is not a JSON object"),
            ({}, 'it needs either "command" or "url"'),
            ({"command": "a", "url": "http://b"}, 'it needs either "command" or "url"'),
            ({"command": ["a"]}, '"command" is not a string'),
            ({"command": ""}, '"command" is empty'),
            ({"command": "a", "args": "-y"}, '"args" is not an array'),
            ({"command": "a", "args": ["-y", 1]}, '"args[1]" is not a string'),
            ({"command": "a", "env": ["A=1"]}, '"env" is not an object'),
            ({"command": "a", "env": {"PORT": 8000}}, '"env.PORT" is not a string'),
            ({"command": "a", "cwd": 1}, '"cwd" is not a string'),
            ({"url": 1}, '"url" is not a string'),
            ({"url": "example.org/mcp"}, '"url" is not an address that begins with http:// or https://'),
            ({"url": "file:///etc/passwd"}, '"url" is not an address that begins with http:// or https://'),
            ({"url": "https://a", "headers": []}, '"headers" is not an object'),
            ({"url": "https://a", "headers": {"X": None}}, '"headers.X" is not a string'),
        ],
    )
    def test_a_wrong_shape_is_told_with_file_and_server(self, tmp_path: Path, server: Any, expected: str) -> None:
        path = write(tmp_path, {"fine": {"command": "a"}, "wrong": server})
        with pytest.raises(InvalidConfig) as raised:
            read_config(path)
        assert str(raised.value) == f"the tool servers cannot be read from {path}, server 'wrong': {expected}"

    @pytest.mark.parametrize("name", ["", "a___b", "a____b", "_a", "a_", "a b", "a.b", "ä", "a/b"])
    def test_a_name_that_could_not_be_told_from_a_tools_is_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(InvalidConfig, match="the name is refused") as raised:
            read_config(write(tmp_path, {name: {"command": "a"}}))
        assert raised.value.server == name

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (b"{", "it is not JSON: "),
            (b"\xff", "it is not UTF-8 (byte 0)"),
            (b"[]", "it is not a JSON object"),
            (b"{}", 'it has no object "mcpServers"'),
            (b'{"mcpServers": []}', 'it has no object "mcpServers"'),
            (b'{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "the key 'a' appears twice"),
        ],
    )
    def test_a_file_that_holds_something_else_is_refused(self, tmp_path: Path, content: bytes, expected: str) -> None:
        path = tmp_path / "servers.json"
        path.write_bytes(content)
        with pytest.raises(InvalidConfig) as raised:
            read_config(path)
        assert raised.value.server is None
        assert expected in raised.value.reason

    def test_a_file_that_is_not_there_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidConfig, match="No such file or directory"):
            read_config(tmp_path / "none.json")
