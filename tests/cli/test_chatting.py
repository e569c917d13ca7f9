"""A conversation at the terminal, and without one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from headish import Store
from headish_cli.commands.talking.conversation import ChatSession
from support.command import Command
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text
from support.terminal import PATIENCE_SECONDS, Terminal

EDITING = "\x1b[?2004h"
"""A line editor asks the terminal to mark what is pasted, and takes that back when the line is done."""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)
    monkeypatch.setenv("TEST_KEY", "the-key-of-the-test")


@pytest.fixture
def server(headish: Command) -> Iterator[Loopback]:
    """A provider that two pointers point at; ``milli`` is the default."""
    with Loopback() as server:
        for name, model in (("milli", "small"), ("kilo", "large")):
            headish("ptr", "set", name, f"anthropic/{model}", "--base-url", server.url, "--key-env", "TEST_KEY")
        headish("ptr", "default", "milli")
        yield server


def answers(server: Loopback, *texts: str) -> None:
    for text in texts:
        server.answer(chunks=event_stream(anthropic_text(text)))


def said(headish: Command, name: str) -> list[str]:
    """The words of a thread, from its beginning."""
    with Store.open(headish.target) as store:
        return [store.text(turn.id) for turn in reversed(store.log(name))]


class TestPlainLines:
    def test_each_line_is_a_turn_and_goes_on_where_the_one_before_ended(
        self, headish: Command, server: Loopback
    ) -> None:
        answers(server, "Hello.", "Lima.")
        done = headish("chat", "main", "-s", "Be brief.", stdin="Hi\n\nCapital of Peru?\n")
        assert (done.out, done.err) == ("Hello.\nLima.\n", "")
        assert said(headish, "main") == ["Be brief.", "Hi", "Hello.", "Capital of Peru?", "Lima."]

    def test_quotes_hold_the_lines_of_a_message_together(self, headish: Command, server: Loopback) -> None:
        answers(server, "Hello.", "Bye.")
        headish("chat", "main", stdin='"""\none\n\n two\n"""\n"""three"""\n')
        assert said(headish, "main")[::2] == ["one\n\n two", "three"]

    def test_a_conversation_goes_on_and_may_have_no_name(self, headish: Command, server: Loopback) -> None:
        answers(server, "Hello.", "Yes.", "No.")
        headish("chat", stdin="Hi\n")
        first = headish("get", "--json").json["id"]
        headish("chat", first, stdin="Still there?\n/fork named\nReally?\n")
        assert said(headish, "named") == ["Hi", "Hello.", "Still there?", "Yes.", "Really?", "No."]

    def test_a_bookmark_moves_along_even_where_its_turn_was_named(self, headish: Command, server: Loopback) -> None:
        answers(server, "Hello.", "Yes.", "Good.")
        headish("chat", "main", stdin="Hi\n")
        headish("chat", "@", stdin="One\nTwo\n")
        assert len(said(headish, "main")) == 6

    def test_undo_takes_back_what_was_said_and_fork_leaves_the_old_name(
        self, headish: Command, server: Loopback
    ) -> None:
        answers(server, "Hello.", "Wrong.", "Right.", "Elsewhere.")
        done = headish("chat", "main", stdin="Hi\nOops\n/undo\nBetter\n/fork side\nOther\n")
        assert done.err == "taken back: Oops\nGoing on as side; main stays where it is.\n"
        assert said(headish, "main") == ["Hi", "Hello.", "Better", "Right."]
        assert said(headish, "side") == ["Hi", "Hello.", "Better", "Right.", "Other", "Elsewhere."]

    def test_edit_says_it_otherwise_and_the_old_words_stay_a_version(self, headish: Command, server: Loopback) -> None:
        answers(server, "Hello.", "Wrong.", "Right.")
        headish("chat", "main", stdin="Hi\nOops\n/edit Better\n")
        assert said(headish, "main") == ["Hi", "Hello.", "Better", "Right."]
        assert [each["version"] for each in headish("siblings", "main~1", "--json").json_lines] == [1, 2]

    def test_undo_of_everything_begins_anew_with_what_it_began_with(self, headish: Command, server: Loopback) -> None:
        answers(server, "Hello.", "Again.")
        headish("chat", "main", "-p", "kilo", "-s", "Be brief.", stdin="Hi\n/undo\n")
        headish("chat", "main", stdin="Hi again\n")
        assert said(headish, "main") == ["Be brief.", "Hi again", "Again."]

    def test_retry_asks_again_and_model_asks_another(self, headish: Command, server: Loopback) -> None:
        answers(server, "Hello.", "Hullo.", "Salut.", "Yes.", "Well.")
        lines = "Hi\n/retry\n/retry kilo\n/model kilo\nMore\n/model other:8b\nAnd more\n"
        done = headish("chat", "main", stdin=lines)
        asked = [each.body["model"] for each in server.requests]
        assert asked == ["small", "small", "large", "large", "other:8b"]
        assert done.err == "Asking kilo (anthropic/large).\nAsking other:8b.\n"
        assert said(headish, "main")[:3] == ["Hi", "Salut.", "More"]

    def test_a_file_goes_along_with_the_next_line_alone(
        self, headish: Command, server: Loopback, tmp_path: Path
    ) -> None:
        answers(server, "A table.", "Yes.")
        (tmp_path / "a b.csv").write_text("x,y\n")
        headish("chat", "main", stdin=f"/attach {tmp_path / 'a b.csv'}\nWhat is it?\nSure?\n")
        first, _, third = server.requests[1].body["messages"]
        assert "x,y" in str(first["content"])
        assert third["content"] == [{"type": "text", "text": "Sure?"}]

    def test_a_slash_that_is_said_is_doubled(self, headish: Command, server: Loopback) -> None:
        answers(server, "Hello.")
        headish("chat", "main", stdin="//etc/passwd is what?\n/quit\nNever said\n")
        assert said(headish, "main") == ["/etc/passwd is what?", "Hello."]

    @pytest.mark.parametrize(("lines", "told"), [
        ("/nothing\n", "there is no command /nothing"), ("/undo\n", "nothing was said yet"),
        ("/undo x\n", "/undo takes a number"), ("/retry\n", "nothing was said yet"), ("/fork\n", "/fork takes a NAME"),
        ("/tree\n", "nothing was said yet"), ("/attach no-such-file\n", "no-such-file"),
    ])  # fmt: skip
    def test_a_command_that_cannot_be_done_is_told(
        self, headish: Command, server: Loopback, lines: str, told: str
    ) -> None:
        assert told in headish.fails("chat", "main", stdin=lines)

    def test_an_answer_that_does_not_come_ends_it_and_leaves_the_question(
        self, headish: Command, server: Loopback
    ) -> None:
        server.answer_json({"error": {"message": "no"}}, 401)
        headish.fails("chat", "main", stdin="Hi\nNever said\n")
        assert said(headish, "main") == ["Hi"]
        answers(server, "Hello.")
        headish("chat", "main", stdin="/retry\n")
        assert said(headish, "main") == ["Hi", "Hello."]

    def test_a_name_that_moves_on_while_it_is_asked_keeps_what_the_other_said(
        self, headish: Command, server: Loopback
    ) -> None:
        def chunks() -> Iterator[bytes]:
            headish("add", "Me too", "-c", "main")
            yield from event_stream(anthropic_text("Hello."))

        server.answer(chunks=chunks())
        answers(server, "Both of you.")
        done = headish("chat", "main", stdin="Hi\nWho?\n")
        assert "main has moved on meanwhile: the answer is" in done.err
        assert said(headish, "main") == ["Hi", "Me too", "Who?", "Both of you."]

    def test_a_line_that_is_no_text_ends_it(self, headish: Command, server: Loopback) -> None:
        assert "not UTF-8" in headish.fails("chat", "main", stdin=b"\xff\n")

    def test_nobody_to_ask_is_told_before_anything_is_typed(self, headish: Command) -> None:
        assert "no provider is named" in headish.fails("chat", "main", stdin="Hi\n")
        assert "'none'" in headish.fails("chat", "main", "-p", "none", stdin="Hi\n")
        assert "main~3" in headish.fails("chat", "main~3", stdin="Hi\n")


class Prompted(Terminal):
    """A terminal whose program edits lines."""

    def wait_for_prompt(self, number: int) -> None:
        """Read until so many lines were asked for: what is typed before is not the editor's."""
        while self.raw.count(EDITING) < number:
            assert self._read(PATIENCE_SECONDS), self.shown


def test_a_conversation_is_greeted_by_its_last_words_and_an_overlay_by_what_it_does(headish: Command) -> None:
    headish("add", "Hi", "-b", "main")
    headish("hide", "main")
    with Store.open(headish.target) as store:
        assert ChatSession(store, "main", None, {}, {}).last_words() == [
            "you: Hi",
            "overlay: hides 1 turn from the model and people",
        ]


@pytest.mark.slow
class TestAtATerminal:
    def chat(self, headish: Command, *words: str) -> Prompted:
        # Nothing answers here when it is asked where the cursor is.
        terminal = Prompted("--db", headish.target, "chat", *words, env={"PROMPT_TOOLKIT_NO_CPR": "1"})
        terminal.wait_for_prompt(1)
        return terminal

    def test_lines_are_edited_and_ctrl_d_leaves(self, headish: Command, server: Loopback) -> None:
        answers(server, "Hello.", "Two lines, 日本語.")
        terminal = self.chat(headish, "main")
        terminal.wait_for("main>")
        terminal.type("Hx\x7fi\r")  # a backspace in between
        terminal.wait_for_prompt(2)
        terminal.type("one\x1b\rtwo 日本\r")  # Alt-Enter
        terminal.wait_for_prompt(3)
        assert "Two lines, 日本語." in terminal.shown
        terminal.type("not sent")
        terminal.type("\x03")
        terminal.wait_for("Ctrl-D or /quit leaves.")
        terminal.wait_for_prompt(4)
        terminal.type("\x04")
        assert "'headish chat main' goes on." in (terminal.wait_for("goes on."), terminal.wait())[0]
        assert said(headish, "main") == ["Hi", "Hello.", "one\ntwo 日本", "Two lines, 日本語."]

    def test_ctrl_c_ends_the_answer_and_keeps_what_arrived(self, headish: Command, server: Loopback) -> None:
        half = event_stream(anthropic_text("Half", " never"))[:3]
        server.answer(chunks=chain(half, repeat(b": waiting\n\n")), delay_seconds=0.05)
        answers(server, "Whole.")
        terminal = self.chat(headish, "main")
        terminal.type("Hi\r")
        terminal.wait_for("Half")
        terminal.type("\x03")
        terminal.wait_for("what arrived is kept. /retry asks again.")
        terminal.wait_for_prompt(2)
        terminal.type("/retry\r")
        terminal.wait_for_prompt(3)
        terminal.type("/tree\r")
        terminal.wait_for("●")
        terminal.wait_for_prompt(4)
        terminal.type("/nothing\r")
        terminal.wait_for("there is no command /nothing")
        terminal.wait_for_prompt(5)
        terminal.type("/quit\r")
        assert terminal.wait() == 0
        assert said(headish, "main") == ["Hi", "Whole."]
