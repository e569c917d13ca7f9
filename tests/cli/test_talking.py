"""Saying more than a text: a system message, attachments, options of one call, and whom a thread is asked by."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command import Command
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)
    monkeypatch.setenv("TEST_KEY", "the-key-of-the-test")


@pytest.fixture
def server(headish: Command) -> Iterator[Loopback]:
    """A provider that two pointers point at, and always answers."""
    with Loopback() as server:
        for name, model in (("milli", "small"), ("kilo", "large")):
            headish("ptr", "set", name, f"anthropic/{model}", "--base-url", server.url, "--key-env", "TEST_KEY")
        for _ in range(4):
            server.answer(chunks=event_stream(anthropic_text("Hello.")))
        yield server


def options_at(headish: Command, name: str) -> object:
    return headish("get", name, "--json").json["options"]


class TestASystemMessage:
    def test_begins_a_thread(self, headish: Command, server: Loopback) -> None:
        headish("ask", "Hi", "-s", "Be brief.", "-b", "main", "-p", "milli")
        assert [row["meta"]["role"] for row in headish("log", "main", "--json").json_lines] == [
            "assistant", "user", "system",
        ]  # fmt: skip
        assert json.dumps(server.requests[0].body["system"]).count("Be brief.") == 1

    def test_on_a_thread_that_exists_it_is_refused_with_the_way(self, headish: Command, server: Loopback) -> None:
        headish("add", "Hi", "-b", "main")
        assert "headish add --role system -c" in headish.misused("ask", "More", "-s", "Be brief.", "-c", "main")
        assert len(headish("log", "main", "--json").json_lines) == 1

    def test_under_a_name_that_is_taken_nothing_is_stored(self, headish: Command, server: Loopback) -> None:
        headish("add", "Hi", "-b", "main")
        before = headish("stats", "--json").json["turns"]
        headish.fails("ask", "More", "-s", "Be brief.", "-b", "main", "-p", "milli")
        assert (headish("stats", "--json").json["turns"], server.requests) == (before, [])


class TestAttachments:
    def test_files_and_standard_input_go_along_with_their_types(
        self, headish: Command, server: Loopback, tmp_path: Path
    ) -> None:
        picture = tmp_path / "dot.png"
        picture.write_bytes(PNG)
        words = ("ask", "What is this?", "-a", str(picture), "-a", "-", "-b", "main", "-p", "milli")
        headish(*words, stdin="a,b\n1,2\n")
        image, table, text = server.requests[0].body["messages"][0]["content"]
        assert image["source"] == {"type": "base64", "media_type": "image/png", "data": b64encode(PNG).decode()}
        assert "a,b\n1,2\n" in json.dumps(table, ensure_ascii=False).replace("\\n", "\n")
        assert text["text"] == "What is this?"

    def test_a_turn_may_be_an_attachment_alone(self, headish: Command, tmp_path: Path) -> None:
        (tmp_path / "dot.png").write_bytes(PNG)
        headish("add", "-a", str(tmp_path / "dot.png"), "-b", "main")
        [block] = json.loads(headish("get", "main", "--payload").out)
        assert (block["type"], block["name"]) == ("document", "dot.png")

    def test_a_url_is_kept_as_a_url(self, headish: Command) -> None:
        headish("add", "Look", "-a", "https://example.org/cat.png?size=2", "-b", "main")
        block, _ = json.loads(headish("get", "main", "--payload").out)
        assert block["source"] == {
            "type": "url", "url": "https://example.org/cat.png?size=2", "media_type": "image/png",
        }  # fmt: skip

    def test_a_file_that_is_missing_is_told_before_anything_is_stored(self, headish: Command, server: Loopback) -> None:
        assert "no-such-file" in headish.fails("ask", "Hi", "-a", "no-such-file", "-p", "milli")
        assert headish("stats", "--json").json["turns"] == 0

    def test_what_is_no_url_is_named(self, headish: Command, server: Loopback) -> None:
        assert "'https://[x/a.png' cannot be read as a URL" in headish.fails("add", "Look", "-a", "https://[x/a.png")
        assert "cannot be read as a URL" in headish.fails("chat", "main", "-p", "milli", stdin="/attach https://[x\n")
        assert headish("stats", "--json").json["turns"] == 0

    def test_standard_input_is_read_once(self, headish: Command) -> None:
        assert "once" in headish.misused("add", "-", "-a", "-", stdin="x")
        assert "--attach" in headish.misused("add", "[]", "--json-blocks", "-a", "-", stdin="x")


class TestOptionsOfOneCall:
    def test_are_sent_and_kept_beside_the_reply_and_hold_for_this_call_alone(
        self, headish: Command, server: Loopback
    ) -> None:
        headish("ask", "Hi", "-b", "main", "-p", "milli", "-o", "max_tokens=7", "-o", "effort=low")
        kept = headish("get", "main", "--json").json["meta"]["reply"]
        headish("ask", "More", "-c", "main")
        first, second = (asked.body for asked in server.requests)
        assert (first["max_tokens"], first["output_config"]) == (7, {"effort": "low"})
        assert kept["params"] == {"max_tokens": 7, "effort": "low"}
        assert second["max_tokens"] != 7
        assert "params" not in headish("get", "main", "--json").json["meta"]["reply"]

    def test_a_retry_asks_with_them_again(self, headish: Command, server: Loopback) -> None:
        headish("ask", "Hi", "-b", "main", "-p", "milli", "-o", "max_tokens=7")
        headish("retry", "main")
        assert server.requests[1].body["max_tokens"] == 7

    def test_a_schema_is_one_of_them(self, headish: Command, server: Loopback, tmp_path: Path) -> None:
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        (tmp_path / "city.json").write_text(json.dumps(schema))
        done = headish.run("ask", "Where?", "-b", "main", "-p", "milli", "--schema", str(tmp_path / "city.json"))
        assert server.requests[0].body["output_config"]["format"] == {"type": "json_schema", "schema": schema}
        assert (done.code, done.out) == (1, "Hello.\n")
        assert "The answer is kept, but does not follow its schema: it is not JSON" in done.err
        assert headish("get", "main", "--json").json["meta"]["reply"]["schema_error"].startswith("it is not JSON")

    @pytest.mark.parametrize("pair", ["max_tokens", "=1", "api_key=sk-verysecret1234567890"])
    def test_what_is_none_is_refused_without_repeating_it(self, headish: Command, server: Loopback, pair: str) -> None:
        done = headish.run("ask", "Hi", "-b", "main", "-p", "milli", "-o", pair)
        assert done.code in (1, 2)
        assert "verysecret" not in done.err
        assert server.requests == []

    def test_what_is_set_holds_for_the_thread(self, headish: Command, server: Loopback) -> None:
        headish("ask", "Hi", "-b", "main", "-p", "milli", "--set", "params.max_tokens=9")
        headish("ask", "More", "-c", "main")
        assert [asked.body["max_tokens"] for asked in server.requests] == [9, 9]


class TestWhomAThreadIsAskedBy:
    def test_a_model_may_be_the_name_of_a_pointer(self, headish: Command, server: Loopback) -> None:
        headish("ask", "Hi", "-b", "main", "-m", "kilo")
        headish("ask", "More", "-c", "main")
        headish("ask", "And you?", "-c", "main", "-m", "milli")
        headish("ask", "Still", "-c", "main", "-m", "other:8b")
        assert [asked.body["model"] for asked in server.requests] == ["large", "large", "small", "other:8b"]

    def test_the_default_is_asked_where_a_thread_names_none_and_stays_its_pointer(
        self, headish: Command, server: Loopback
    ) -> None:
        headish("ptr", "default", "kilo")
        headish("ask", "Hi", "-b", "main")
        headish("ptr", "default", "milli")
        headish("ask", "More", "-c", "main")
        assert [asked.body["model"] for asked in server.requests] == ["large", "large"]
        assert headish("ptr", "default").out == "milli\n"
        assert headish("ptr", "default", "--unset", "--json").json == {"default": None}

    def test_a_retry_goes_to_who_replied_and_not_to_the_default(self, headish: Command, server: Loopback) -> None:
        headish("add", "Hi", "-b", "main")
        headish("ask", "-c", "main", "-p", "kilo")
        headish("ptr", "default", "milli")
        headish("retry", "main")
        assert [asked.body["model"] for asked in server.requests] == ["large", "large"]

    def test_a_default_is_a_pointer_and_verify_knows_it(self, headish: Command, server: Loopback) -> None:
        assert "no provider pointer is named 'nobody'" in headish.fails("ptr", "default", "nobody")
        headish("ptr", "default", "kilo")
        assert "still the default" in headish("ptr", "rm", "kilo").err
        assert "'kilo'" in headish.fails("ask", "Hi")
        assert headish("verify").code == 0
