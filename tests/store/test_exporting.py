"""Exports of many conversations: one by one, and a file for each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import FileTaken, InvalidArgument, UnknownFormat, UnknownTurn, Unmappable, Unrepresentable
from headish.store.keeping.export_all import file_name
from support.command import Command
from support.growing import grow

JSON_FORMATS = ("chat", "responses", "anthropic", "gemini", "cohere", "openai-finetune", "hf", "sharegpt")


def add(store: Store, content: Any, role: str = "user", name: str = "main", **further: Any) -> str:
    """A turn behind the bookmark, which moves along."""
    place = {"continues": name} if name in store.bookmarks else {"bookmark": name}
    return store.add_turn(content, role=role, **place, **further).id


class TestMany:
    def test_all_conversations_come_once_by_name_and_then_those_without_one(self, store: Store) -> None:
        for name in ("b", "a"):
            add(store, name, name=name)
        store.add_turn("nameless")
        assert [(each.subject, each.title) for each in store.export_each(format="hf")][:2] == [("a", "a"), ("b", "b")]
        assert [each.title for each in store.export_each(format="hf")][2:] == ["nameless"]

    def test_pages_of_names_are_read_to_the_end(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headish.store.keeping.export_all._PAGE", 2)
        for number in range(5):
            add(store, str(number), name=f"n{number}")
            store.add_turn(f"nameless {number}")
        assert len({each.text for each in store.export_each(format="hf")}) == 10

    def test_one_that_is_refused_does_not_stop_the_others(self, store: Store) -> None:
        add(store, [{"type": "thinking", "text": "hm", "provider": "x"}], "assistant", name="a")
        add(store, "fine", name="b")
        refused, fine = store.export_each(format="sharegpt")
        assert isinstance(refused.refused, Unmappable)
        assert fine.refused is None
        assert "fine" in fine.text

    def test_a_headish_that_names_nothing_is_an_error(self, store: Store) -> None:
        with pytest.raises(UnknownTurn):
            list(store.export_each(["nobody"], "hf"))
        with pytest.raises(UnknownFormat, match="sharegpt"):
            store.export_each(format="share-gpt")

    def test_json_is_a_line_each_and_the_same_as_alone(self, store: Store) -> None:
        add(store, "Sum?")
        add(store, "2", "assistant")
        for format in JSON_FORMATS:
            [each] = store.export_each(["main"], format, for_training=True)
            assert each.text.count("\n") == 1
            assert json.loads(each.text) == json.loads(store.export("main", format, for_training=True))


def test_half_a_character_in_arguments_is_refused_where_they_go_out_as_an_object(store: Store) -> None:
    """It has no UTF-8: the text could not be written to a file."""
    add(store, [{"type": "tool_use", "id": "c1", "name": "f", "raw": '{"a": "\\ud800"}'}], "assistant")
    with pytest.raises(Unmappable, match="half a character"):
        store.export("main", "anthropic")
    assert store.export("main", "chat").encode()


def test_a_refusal_names_the_api_that_was_asked_for(store: Store) -> None:
    """Its messages are made as for the RWKV template, of which nobody spoke."""
    add(store, [{"type": "text", "text": "a", "opaque": {"x": {"a": 1}}}], "assistant")
    for format, name in (("chat", "chat messages"), ("responses", "Responses"), ("anthropic", "Anthropic messages")):
        with pytest.raises(Unrepresentable, match=f"{name}.* cannot carry what a provider keeps beside its words"):
            store.export("main", format)


@pytest.mark.parametrize("format", ["chat", "responses", "anthropic"])
def test_a_picture_goes_out_as_the_messages_of_the_api_have_it(store: Store, tmp_path: Path, format: str) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    store.add_turn("What is this?", bookmark="main")
    store.add_document(tmp_path / "a.png", continues="main")
    [messages] = json.loads(store.export("main", format)).values()
    assert messages == store.messages("main", form=format)
    assert "iVBORw0KGgo=" in json.dumps(messages)
    [without] = json.loads(store.export("main", format, drop=["document"])).values()
    assert "iVBORw0KGgo=" not in json.dumps(without)
    with pytest.raises(Unrepresentable, match="document"):
        store.export("main", format, for_completion=True)


class TestFolder:
    def test_a_file_for_each_conversation(self, store: Store, tmp_path: Path) -> None:
        add(store, "one", name="work/a")
        add(store, "two", name="b")
        done = store.export_folder(tmp_path / "out", format="markdown")
        assert (done.written, done.refused) == (2, 0)
        names = sorted(each.name for each in (tmp_path / "out").iterdir())
        assert names[0] == "b.md"
        assert names[1].startswith("work-a-")
        assert "two" in (tmp_path / "out" / "b.md").read_text()

    def test_a_second_export_writes_nothing_and_replaces_nothing_unasked(self, store: Store, tmp_path: Path) -> None:
        add(store, "one", name="a")
        store.export_folder(tmp_path, format="hf")
        assert store.export_folder(tmp_path, format="hf").unchanged == 1
        (tmp_path / "a.json").write_text("mine")
        told: list[tuple[Any, str]] = []
        done = store.export_folder(tmp_path, format="hf", told=lambda each, path: told.append((each.refused, path)))
        assert (done.refused, (tmp_path / "a.json").read_text()) == (1, "mine")
        assert isinstance(told[0][0], FileTaken)
        assert store.export_folder(tmp_path, format="hf", overwrite=True).written == 1
        assert "one" in (tmp_path / "a.json").read_text()
        assert [each.name for each in tmp_path.iterdir() if "part" in each.name or "new" in each.name] == []

    def test_a_link_is_neither_followed_nor_written_through(self, store: Store, tmp_path: Path) -> None:
        add(store, "one", name="a")
        aim = tmp_path / "aim"
        aim.write_text("mine")
        out = tmp_path / "out"
        out.mkdir()
        os.symlink(aim, out / "a.json")
        assert store.export_folder(out, format="hf").refused == 1
        assert store.export_folder(out, format="hf", overwrite=True).written == 1
        assert aim.read_text() == "mine"

    @pytest.mark.parametrize(
        "subject", ["../../etc/passwd", "a/../b", "/root", "con", "NUL.txt", ".hidden", "A", "a b", "日本/語",
                    "é" * 100, "x" * 300, "name.", "-rf", "a\u202eb"],
    )  # fmt: skip
    def test_a_name_stays_in_the_folder_and_is_one_that_every_system_takes(self, subject: str) -> None:
        name = file_name(subject, subject, ".json")
        assert os.path.basename(name) == name
        assert len(name.encode()) < 200
        assert name[0] not in ".-"
        assert name == name.lower()
        assert name != f"{subject}.json"

    def test_names_that_look_alike_to_a_file_system_are_two_files(self) -> None:
        names = [file_name(each, each, ".md") for each in ("Straße", "straße", "STRASSE", "a/b", "a-b", "a:b", "A-B")]
        assert len({name.casefold() for name in names}) == len(names)


class TestBranches:
    def test_each_branch_of_a_tree_is_a_line_once_whoever_names_it(self, store: Store) -> None:
        grow(store, "one <- a <- left, a <- right, a <- named, other")
        ends = {store.get(each.id).text for each in store.heads()}
        store.bookmarks.set("n", next(each.id for each in store.heads() if each.text == "named"))
        lines = [*store.export_each(None, "chat", branches=True)]
        said = [json.loads(each.text)["messages"][-1]["content"] for each in lines]
        assert sorted(said) == sorted(ends)
        assert lines[0].subject == "n"
        asked = [*store.export_each(["n"], "hf", branches=True)]
        assert [json.loads(each.text)["messages"][-1]["content"] for each in asked] == ["named", "left", "right"]

    @pytest.mark.parametrize("format", ["html", "markdown", "chat"])
    def test_of_a_conversation_hold_no_other_that_begins_with_the_same_system_turn(
        self, store: Store, format: str
    ) -> None:
        """Whoever gets a page with its branches is not to read what others asked the same client."""
        system = store.add_turn("be brief", role="system").id
        store.add_turn("own", continues=system, bookmark="own")
        first = store.get("own").id
        store.add_turn("answer", role="assistant", continues=first)
        store.add_turn("another", role="assistant", continues=first)
        store.edit(first, "edited")
        store.add_turn("PRIVATE", continues=system)
        texts = [each.text for each in store.export_each(["own"], format, branches=True)]
        assert [any(word in text for text in texts) for word in ("own", "answer", "another", "edited")] == [True] * 4
        assert not any("PRIVATE" in text for text in texts)
        everything = [each.text for each in store.export_each(None, format, branches=True)]
        assert any("PRIVATE" in text for text in everything)

    def test_a_folder_has_a_file_for_each_branch_and_a_transcript_takes_none(
        self, store: Store, tmp_path: Path
    ) -> None:
        grow(store, "one <- a, one <- b")
        assert store.export_folder(tmp_path / "out", format="chat", branches=True).written == 2
        with pytest.raises(InvalidArgument, match="takes no 'branches'"):
            store.export_each(None, "2.2", branches=True)

    def test_the_command_prints_a_line_for_each(self, store: Store, tmp_path: Path) -> None:
        command = Command(str(tmp_path / "ours.db"))
        with Store.open(tmp_path / "ours.db") as other:
            grow(other, "one <- a, one <- b")
        assert len(command("export", "--to", "chat", "--branches").out.splitlines()) == 2
        assert "--branches is for" in command.misused("export", "--to", "2.2", "--branches")


class TestCallsWithoutIds:
    """Gemini names calls by their place; the other APIs refuse a call, or a result, without an id."""

    CONTENTS = (
        {"role": "user", "parts": [{"text": "Add."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"a": 2}}},
                                    {"functionCall": {"name": "add", "args": {"a": 3}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"result": "4"}}},
                                   {"functionResponse": {"name": "add", "response": {"result": "6"}}}]},
    )  # fmt: skip
    PROVIDERS = (
        ("chat", "openai"),
        ("anthropic", "anthropic"),
        ("responses", "openai_responses"),
        ("cohere", "cohere"),
    )
    KEYS = ("id", "tool_call_id", "tool_use_id", "call_id")

    def ids_in(self, value: Any) -> list[str]:
        """All ids of calls and results, in their order."""
        if isinstance(value, list):
            return [id for each in value for id in self.ids_in(each)]
        inner = [] if not isinstance(value, dict) else [each for key in value for each in self.ids_in(value[key])]
        return inner + [value[key] for key in self.KEYS if key in value] if isinstance(value, dict) else inner

    @pytest.mark.parametrize(("format", "provider"), PROVIDERS)
    def test_they_get_the_ids_that_a_request_gives_them(self, store: Store, format: str, provider: str) -> None:
        tip = store.record(list(self.CONTENTS), form="gemini").tip
        [*_, entries] = json.loads(store.export(tip.id, format)).values()
        made = [f"call_{store.get(f'{tip.id}~1').id}_{position}" for position in range(2)]
        assert self.ids_in(entries) == made * 2
        assert set(self.ids_in(store.request(tip.id, provider).body)) == set(made)
        assert not any(entry.get("role") == "function" for entry in entries)

    def test_what_gemini_wrote_comes_back_without_ids(self, store: Store) -> None:
        tip = store.record(list(self.CONTENTS), form="gemini").tip
        assert json.loads(store.export(tip.id, "gemini"))["contents"] == list(self.CONTENTS)
        assert self.ids_in(store.messages(tip.id, form="gemini")) == []

    def test_an_old_function_call_of_chat_comes_back_as_it_was(self, store: Store) -> None:
        given = [
            {"role": "user", "content": "Add."},
            {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": "{}"}},
            {"role": "function", "name": "add", "content": "5"},
        ]
        tip = store.record(given, form="chat").tip
        assert json.loads(store.export(tip.id, "chat"))["messages"] == given
        [*_, entries] = json.loads(store.export(tip.id, "anthropic")).values()
        assert len(self.ids_in(entries)) == 2
