"""``add``, ``doc`` and ``import``: what they store, what they print, what they tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headish.values.ids import is_id_shaped
from support.command import Command

TREE = {
    "message_tree_id": "tree",
    "prompt": {
        "message_id": "1",
        "text": "Hi?",
        "role": "prompter",
        "replies": [
            {"message_id": "2", "text": "Hello.", "role": "assistant", "rank": 0, "replies": []},
            {"message_id": "3", "text": "Hey.", "role": "assistant", "rank": 1, "replies": []},
        ],
    },
}


class TestAdd:
    def test_it_takes_the_time_when_it_was_said(self, headish: Command) -> None:
        headish("add", "Hello?", "--said-at", "2023-02-05T14:23:50+01:00", "-b", "main")
        [line] = headish("log", "main", "--json").json_lines
        assert line["said_at"] == "2023-02-05T13:23:50.000+00:00"
        assert line["time"] > line["said_at"]
        assert headish("get", "main", "--json").json["said_at"] == line["said_at"]
        assert "2023-02-05" in headish("log", "main").out
        assert "stored 20" in headish("get", "main").err

    def test_a_key_is_stored_once_and_found(self, headish: Command) -> None:
        first = headish.id("add", "Hello?", "--key", "c1:1", "-b", "main")
        again = headish("add", "Hello?", "--key", "c1:1", "-c", "main")
        assert again.out.strip() == first
        assert again.err == "Nothing was stored: the key is that of a turn that says the same.\n"
        assert "KEY;2" in headish.fails("add", "Hi?", "--key", "c1:1")
        assert headish.id("find", "c1:1") == first
        found = headish("find", "c1:1", "--json").json
        assert (found["id"], found["meta"]["key"], found["said_at"]) == (first, "c1:1", found["time"])
        assert headish.fails("find", "c1:2") == "no turn of this space has the key c1:2"

    def test_a_document_has_one_too(self, headish: Command) -> None:
        first = headish.id("doc", __file__, "--key", "file")
        assert (headish.id("doc", __file__, "--key", "file"), headish.id("find", "file")) == (first, first)

    def test_who_adds_it_may_be_said(self, headish: Command) -> None:
        headish("--author", "Ada", "add", "Hello?")
        assert headish("get", "--json").json["meta"]["author"] == "Ada"

    def test_a_time_without_an_offset_is_in_utc(self, headish: Command) -> None:
        headish("add", "Hello?", "--said-at", "2023-02-05")
        assert headish("get", "--json").json["meta"]["said_at"] == 1_675_555_200_000

    @pytest.mark.parametrize("command", [("add", "Hello?"), ("doc", __file__)])
    def test_what_is_no_time_is_refused(self, headish: Command, command: tuple[str, ...]) -> None:
        assert "is not a time" in headish.misused(*command, "--said-at", "someday")
        assert "between 1970 and tomorrow" in headish.fails(*command, "--said-at", "1960-01-01")

    def test_it_prints_the_new_id_and_nothing_else(self, headish: Command) -> None:
        done = headish("add", "Hello?")
        assert is_id_shaped(done.out.strip())
        assert done.err == ""

    def test_text_comes_from_standard_input_for_a_dash_and_for_nothing(self, headish: Command) -> None:
        assert headish("get", headish("add", "-", stdin="one\n").out.strip()).out == "one\n\n"
        assert headish("get", headish("add", stdin="two").out.strip()).out == "two\n"

    def test_an_empty_turn_is_stored_only_where_it_is_asked_for(self, headish: Command) -> None:
        assert "there is nothing to store" in headish.misused("add", stdin="")
        assert "the text is empty" in headish.misused("add", "")  # as of an unset variable
        empty = headish.id("add", "--json-blocks", '[{"type": "text", "text": ""}]')
        assert headish("get", empty, "--json").json["content"] == [{"type": "text", "text": ""}]

    def test_what_is_piped_in_stands_below_the_text(self, headish: Command) -> None:
        assert headish("get", headish.id("add", "sum", "-b", "main")).out == "sum\n"
        assert headish("get", headish("add", "sum", stdin="1\n2\n").out.strip()).out == "sum\n\n1\n2\n\n"
        assert headish("get", headish("add", "", stdin="1").out.strip()).out == "1\n"
        assert "not both" in headish.misused("add", "[]", "--json-blocks", stdin="[]")
        assert "is not UTF-8" in headish.fails("add", "sum", stdin=b"\xff")

    def test_the_options_that_hold_at_a_turn_are_in_its_json(self, headish: Command) -> None:
        headish("add", "q", "-b", "main", "--set", "params.top_k=3")
        for words in (("add", "a", "-c", "main"), ("doc", "-", "-c", "main"), ("get", "main")):
            assert headish(*words, "--json").json["options"] == {"params": {"top_k": 3}}

    def test_text_from_standard_input_is_utf8_whatever_the_locale_says(self, headish: Command) -> None:
        headish("add", "-", stdin="Zoë".encode())
        assert headish("get", "--json").json["content"] == [{"type": "text", "text": "Zoë"}]
        assert "is not UTF-8" in headish.fails("add", "-", stdin=b"\xff")

    def test_every_option_ends_where_it_belongs(self, headish: Command) -> None:
        first = headish.id("add", "q", "-b", "main")
        other = headish.id("add", "o")
        turn = headish(
            "add", "a", "-c", "main", "-c", other, "-p", "kilo", "--server", "files", "--server", "web", "--search",
            "--tool-mode", "auto", "--role", "assistant", "--set", "params.temperature=0.5", "--set", "params.top_k=3",
            "--set", 'note={"a":[1]}', "--cache", "--expect", first, "--json",
        ).json  # fmt: skip
        assert turn["meta"]["continues"] == [first, other]
        assert turn["meta"]["bookmark"] == "main"
        assert turn["meta"]["role"] == "assistant"
        assert turn["meta"]["cache"] is True
        assert turn["meta"]["inherited"] == {
            "params": {"temperature": 0.5, "top_k": 3},
            "note": {"a": [1]},
            "provider_ptr": "kilo",
            "servers": ["files", "web"],
            "search": True,
            "tool_mode": "auto",
        }

    def test_an_inherited_option_is_switched_off_by_null(self, headish: Command) -> None:
        headish("add", "q", "-b", "main", "--search", "-p", "kilo")
        headish("add", "a", "-c", "main", "--no-search", "--set", "provider_ptr=null")
        assert headish("resolve", "main", "--json").json["options"] == {"search": False}

    def test_respond_continues_the_newest_turn(self, headish: Command) -> None:
        first = headish.id("add", "q")
        assert headish("add", "a", "-r", "--json").json["meta"]["continues"] == [first]

    def test_blocks_are_given_as_json(self, headish: Command) -> None:
        blocks = [{"type": "tool_use", "name": "f", "id": "c1", "input": {"b": 1, "a": 2}}]
        headish("add", "-", "--json-blocks", "--role", "assistant", stdin=json.dumps(blocks))
        assert headish("get", "--json").json["content"] == [
            {"type": "tool_use", "name": "f", "id": "c1", "input": {"b": 1, "a": 2}}
        ]

    def test_a_branch_without_a_name_is_told_and_named_by_its_id(self, headish: Command) -> None:
        headish("add", "q", "-b", "main")
        assert headish("add", "a", "-c", "main").err == ""
        done = headish("add", "b", "-c", "main~1")
        assert done.err.count("\n") == 1
        assert done.out.strip() in done.err
        assert "No bookmark moved" in done.err

    @pytest.mark.parametrize(
        ("words", "reason"),
        [
            (("-c", "a b"), "'a b' is not a headish"),
            (("-b", "a:b"), "'a:b' cannot be the name of a bookmark: it holds ':'"),
            (("--role", "king"), "unknown role 'king': use system, developer, user, assistant or tool"),
        ],
    )
    def test_what_can_never_be_right_is_one_line_and_nothing_is_stored(
        self, headish: Command, words: tuple[str, ...], reason: str
    ) -> None:
        headish("add", "q")
        before = headish("stats", "--json").json
        assert reason in headish.refuses("add", "text", *words)
        assert headish("stats", "--json").json == before

    @pytest.mark.parametrize(
        ("words", "reason"),
        [
            (("-c", "nowhere"), "no turn is named 'nowhere' in this space"),
            (("--set", "a={"), "--set a cannot be kept: it is not JSON"),
            (("--set", "a=NaN"), "--set a cannot be kept"),
            (("--json-blocks",), "content cannot be kept: it is not JSON"),
            (("-b", "main", "--expect", "0" * 25), "bookmark 'main' no longer names"),
        ],
    )
    def test_bad_input_is_one_line_and_nothing_is_stored(
        self, headish: Command, words: tuple[str, ...], reason: str
    ) -> None:
        headish("add", "q")
        before = headish("stats", "--json").json
        assert reason in headish.fails("add", "text", *words)
        assert headish("stats", "--json").json == before

    @pytest.mark.parametrize("words", [("--set", "novalue"), ("--set", "=1"), ("--nonsense",), ("a", "b")])
    def test_wrong_usage_is_exit_code_2(self, headish: Command, words: tuple[str, ...]) -> None:
        assert "Usage: headish add" in headish.misused("add", *words)


class TestAttributes:
    def test_a_turn_says_who_speaks_and_to_whom(self, headish: Command) -> None:
        given = ("--speaker", "bob", "--channel", "commentary", "--intent", "preamble")
        headish("add", "A plan.", "--role", "assistant", "-b", "main", *given)
        assert headish("export", "main").out.endswith(
            "<|start|>assistant name=bob intent=preamble<|channel|>commentary<|message|>A plan.<|end|>\n"
        )
        assert "analysis, commentary, final" in headish.fails("add", "x", "--channel", "nope")


class TestDoc:
    def test_it_stores_the_bytes_and_what_they_are(self, headish: Command, tmp_path: Path) -> None:
        (tmp_path / "notes.md").write_text("# Notes")
        turn = headish("doc", str(tmp_path / "notes.md"), "-b", "main", "--cache", "--json").json
        assert turn["meta"]["type"] == "document"
        assert turn["meta"]["content_type"] == "text/markdown"
        assert turn["meta"]["document_name"] == "notes.md"
        assert headish("get", "main", "--payload").out == "# Notes"

    def test_it_reads_standard_input_too(self, headish: Command) -> None:
        turn = headish("doc", "-", "--name", "a.csv", "--json", stdin=b"a,b").json
        assert (turn["meta"]["content_type"], turn["meta"]["file_size"]) == ("text/csv", 3)
        assert headish("doc", "-", "--content-type", "x/y", "--json", stdin=b"\0").json["meta"]["content_type"] == "x/y"

    def test_it_takes_who_says_it_and_what_holds_from_there_on(self, headish: Command) -> None:
        words = ("-p", "kilo", "--server", "files", "--no-search", "--tool-mode", "any", "--role", "system")
        turn = headish("doc", "-", *words, "--set", "params.top_k=3", "-b", "main", "--json", stdin=b"rules").json
        assert turn["meta"]["role"] == "system"
        assert turn["meta"]["type"] == "document"
        assert headish("resolve", "main").json["options"] == turn["options"] == {
            "params": {"top_k": 3}, "provider_ptr": "kilo", "servers": ["files"], "search": False, "tool_mode": "any",
        }  # fmt: skip
        assert "unknown role 'king'" in headish.refuses("doc", "-", "--role", "king", stdin=b"x")

    def test_a_text_is_shown_as_text(self, headish: Command) -> None:
        headish("doc", "-", "--name", "a.md", stdin="# Grüße")
        assert headish("get").out == "# Grüße\n"
        headish("doc", "-", "--content-type", "text/plain", stdin=b"\xff")
        assert '"media_type": "text/plain"' in headish("get").out

    def test_a_missing_file_is_one_line(self, headish: Command) -> None:
        assert "No such file" in headish.fails("doc", "nowhere.pdf")


class TestImport:
    def test_it_tells_what_was_new_and_stores_nothing_twice(self, headish: Command, tmp_path: Path) -> None:
        (tmp_path / "trees.jsonl").write_text(json.dumps(TREE) + "\n\n")
        path = str(tmp_path / "trees.jsonl")
        assert headish("import", path).err == "1 conversation with 3 messages read; new: 3 turns, 1 bookmark.\n"
        assert headish("import", path, "--from", "oasst", "--json").json == {
            "trees": 1, "messages": 3, "added": 0, "bookmarks": 0, "tips": [], "untimed": 0, "broken": 0,
            "held_back": 0,
            "unmapped": {}, "unread": {"count": 0, "files": [], "importable": {}, "empty": 0},
        }  # fmt: skip

    def test_a_completion_continues_what_it_answers(self, headish: Command) -> None:
        headish("add", "Hi", "-b", "main")
        text = "<|channel|>final<|message|>Hello.<|end|>"
        settings = ("--from", "harmony", "--start-role", "assistant", "-c", "main")
        assert headish("import", "-", *settings, "--json", stdin=text).json["added"] == 1
        assert (
            headish("export", "main", "--to", "harmony").out
            == f"<|start|>user<|message|>Hi<|end|><|start|>assistant{text}"
        )

    def test_the_messages_of_an_api_and_other_tokens_are_taken(self, headish: Command) -> None:
        body = json.dumps({"messages": [{"role": "user", "content": "Hi"}]})
        assert headish("import", "-", "--from", "chat", "--json", stdin=body).json["added"] == 1
        text = "<s><|im_start|>user\nhi\n<|im_end|></s>\n"
        headish("import", "-", "--from", "v0.1", "--bos", "<s>", "--eos", "</s>", "-b", "other", stdin=text)
        assert headish("export", "other", "--to", "v0.1", "--bos", "<s>", "--eos", "</s>").out == text

    def test_it_reads_standard_input(self, headish: Command) -> None:
        assert headish("import", "-", "--json", stdin=json.dumps(TREE)).json["added"] == 3

    def test_json_that_is_no_open_assistant_tree_is_not_taken_for_one(self, headish: Command) -> None:
        named = "; name it with --from: v0.1, 2.0, 2.2, harmony, rwkv"
        for text in ('{"map": {}}', '[{"role": "user", "content": "hi"}]', "[]"):
            told = headish.fails("import", "-", stdin=text)
            assert "of no format that is recognised; name it with --from" in told
            assert "chat, responses or anthropic" in told
        told = headish.fails("import", "-", stdin="Dear diary")
        assert "no format is recognised; name it with --from" in told
        assert "'headish import --help' lists them" in told
        assert "the file is empty" in headish.fails("import", "-", stdin="\n")
        assert f"no format is recognised{named}" in headish.fails("convert", "-", "--to", "2.2", stdin="Dear diary")

    def test_what_is_wrong_for_every_file_is_said_once(self, headish: Command, tmp_path: Path) -> None:
        for name in ("a.jsonl", "b.jsonl"):
            (tmp_path / name).write_text(json.dumps(TREE) + "\n")
        told = headish.refuses("import", str(tmp_path), "--from", "x")
        assert told.startswith("unknown format 'x': known are chatgpt")
        assert "\n" not in told
        assert "--every goes with --watch" in headish.misused("import", str(tmp_path), "--every", "3")

    def test_a_file_that_cannot_be_imported_is_named_and_makes_no_database(self, tmp_path: Path) -> None:
        other = Command(str(tmp_path / "other.db"))
        (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
        (tmp_path / "cut.txt").write_bytes(b"<|im_start|>user\nHi")
        (tmp_path / "wrong.json").write_text('{"messages": [{"role": 5}]}')
        files = sorted(tmp_path.iterdir())
        latin, cut, wrong, missing = (str(tmp_path / name) for name in ("latin.txt", "cut.txt", "wrong.json", "none"))
        for words in ([latin], [latin, "--from", "2.2"], [cut], [missing], [wrong, "--from", "chat"]):
            assert words[0] in other.fails("import", *words)
        assert "unknown format 'x'" in other.refuses("import", latin, "--from", "x")
        told = other.run("import", latin, missing)
        assert [line.split(": ")[0] for line in told.err.splitlines()[:2]] == [latin, missing]
        assert told.err.endswith("2 files of 2 could not be imported\n")
        assert sorted(tmp_path.iterdir()) == files
        other("import", cut, "--partial")
        assert (tmp_path / "other.db").exists()

    def test_bad_files_are_one_line_with_the_lines_number(self, headish: Command, tmp_path: Path) -> None:
        (tmp_path / "bad.jsonl").write_text(json.dumps(TREE) + "\n{}\n")
        done = headish.run("import", str(tmp_path / "bad.jsonl"))
        assert done.code == 1
        assert "bad.jsonl, line 2: broken: " in done.err
        assert "it cannot be read" in headish.fails("import", str(tmp_path / "nowhere.jsonl"))
        assert "unknown format 'x': known are chatgpt" in headish.refuses("import", "-", "--from", "x", stdin="")
