"""Through the store and back: a transcript becomes a thread, a turn a message, and comes out as it went in."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.errors import (
    BookmarkTaken,
    InvalidContent,
    InvalidImport,
    InvalidTranscript,
    UnknownFormat,
    Unrepresentable,
)
from headish.transcripts import emit, from_json, parse
from support.command import Command
from support.growing import texts
from support.insides import unchanged
from support.places import Place
from support.transcripts.models import FORMATS, models

HEADED = """version: 2.2
model: gpt-oss-120b  # kept with its comment
generation_settings: {temperature: 0.7}

<|start|>user<|message|>Hi<|end|>
<|start|>assistant<|channel|>analysis<|message|>A greeting.<|end|>
<|start|>assistant<|message|>Hello.<|return|>
"""


def file_of(text: str, name: str = "chat.ocml") -> io.BytesIO:
    file = io.BytesIO(text.encode())
    file.name = name
    return file


class TestThereAndBack:
    def test_every_message_is_a_turn(self, store: Store) -> None:
        done = store.import_file(file_of(HEADED))
        assert (done.trees, done.messages, done.added, done.bookmarks) == (1, 3, 3, 1)
        assert done.tips == (store.get("chat").id,)
        assert [record.role for record in store.thread("chat")] == ["user", "assistant", "assistant"]
        assert store.get("chat").meta.attributes.stop == "return"
        assert store.get("chat~2").meta.system["header_raw"].startswith("version: 2.2\nmodel: gpt-oss-120b  #")

    def test_it_comes_back_byte_for_byte(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        assert store.export("chat") == HEADED

    def test_the_thread_inherits_what_the_header_sets(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        assert store.options("chat") == {"params": {"model": "gpt-oss-120b", "temperature": 0.7}}

    def test_a_second_import_stores_nothing(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        with unchanged(store):
            again = store.import_file(file_of(HEADED))
        assert (again.added, again.bookmarks) == (0, 0)

    @pytest.mark.parametrize("erased", ["chat", "chat~2", "thread"])
    def test_what_was_erased_with_its_meta_does_not_come_back(self, store: Store, erased: str) -> None:
        store.import_file(file_of(HEADED))
        scope = "thread" if erased == "thread" else "turn"
        store.erase("chat" if erased == "thread" else erased, scope=scope, meta=True, reason="asked for")
        before, names = [turn.id for turn in store.turns()], dict(store.bookmarks)
        assert store.import_file(file_of(HEADED)).added == 0
        assert dict(store.bookmarks) == names
        longer = HEADED + "<|start|>user<|message|>More<|end|>\n"
        assert store.import_file(file_of(longer, "longer.ocml")).added == 1
        assert [turn.id for turn in store.turns()][:-1] == before

    def test_what_was_not_erased_is_found_before_an_erased_twin(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        other = HEADED.replace("0.7", "0.9")
        store.import_file(file_of(other, "other.ocml"))
        store.erase("chat", scope="thread", meta=True, reason="asked for")
        longer = other + "<|start|>user<|message|>More<|end|>\n"
        assert store.import_file(file_of(longer, "longer.ocml")).added == 1
        assert store.export("longer") == longer

    def test_another_header_over_the_same_messages_is_another_thread(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        other = HEADED.replace("0.7", "0.9")
        assert store.import_file(file_of(other, "other.ocml")).added == 3
        assert store.export("other") == other
        assert store.export("chat") == HEADED

    def test_a_longer_version_stores_its_end(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        longer = HEADED + "<|start|>user<|message|>More<|end|>\n"
        assert store.import_file(file_of(longer, "longer.ocml")).added == 1
        assert store.export("longer") == longer

    def test_an_open_header_rides_on_the_last_turn(self, store: Store) -> None:
        text = "<|im_start|>user\nhi\n<|im_end|>\n<|im_start|>assistant\n"
        store.import_file(file_of(text))
        assert store.export("chat", "v0.1") == text
        assert len(store.thread("chat")) == 1

    def test_a_bare_sequence_has_no_role(self, store: Store) -> None:
        text = "<|fim_prefix|>def f():<|fim_middle|><|fim_suffix|>\n"
        store.import_file(file_of(text))
        assert store.get("chat").meta.role is None
        assert store.resolve("chat").messages[0].role is None
        assert store.export("chat", "v0.1") == text
        assert store.verify().problems == ()

    @pytest.mark.slow
    def test_a_thread_of_many_messages_is_imported_in_batches(self, store: Store) -> None:
        text = "".join(f"<|start|>user<|message|>message {number}<|end|>\n" for number in range(1100))
        assert store.import_file(file_of(text)).added == 1100
        assert store.export("chat") == text
        assert store.import_file(file_of(text)).added == 0

    @pytest.mark.parametrize("format", FORMATS)
    @given(data=st.data())
    def test_any_transcript_comes_back(self, place: Place, format: str, data: st.DataObject) -> None:
        try:
            text = emit(from_json(data.draw(models(format))), format)
            parse(text, format)
        except (Unrepresentable, InvalidTranscript):
            return
        store = place.open()
        done = store.import_file(io.BytesIO(text.encode()), format)
        assert store.export(done.tips[0], format) == text


class TestOtherFormats:
    def test_it_leaves_as_another_format_where_that_comes_back(self, store: Store) -> None:
        store.import_file(file_of("<<USER>>\nhi\n<<USER_END>>\n\n<<ASSISTANT>>\nhello\n<<ASSISTANT_END>>\n"))
        assert store.export("chat", "2.2") == (
            "version: 2.2\n\n"
            "<|start|>user<|message|>hi<|end|>\n<|start|>assistant<|channel|>final<|message|>hello<|end|>\n"
        )

    def test_what_would_be_lost_is_named(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        with pytest.raises(Unrepresentable, match=r'drop=\["header", "thinking"\]'):
            store.export("chat", "rwkv")
        with pytest.raises(Unrepresentable, match="reasoning"):
            store.export("chat", "rwkv", drop=["header"])
        assert store.export("chat", "rwkv", drop=["header", "thinking"]).startswith("<<USER>>\nHi\n")

    def test_a_thread_that_went_on_here_is_one_transcript(self, store: Store) -> None:
        store.import_file(file_of("<<USER>>\nhi\n<<USER_END>>\n"))
        store.add_turn([{"type": "thinking", "text": "why"}, "Because."], role="assistant", continues="chat")
        assert store.export("chat") == (
            "version: 2.2\n\n<|start|>user<|message|>hi<|end|>\n"
            "<|start|>assistant<|channel|>analysis<|message|>why<|end|>\n"
            "<|start|>assistant<|channel|>final<|message|>Because.<|end|>\n"
        )

    @pytest.mark.parametrize("version", ["2.2", "2.0"])
    def test_its_header_stays_at_the_head(self, store: Store, version: str) -> None:
        headed = f'version: {version}\nmodel: "gpt-oss-120b"\n\n<|start|>user<|message|>Hi<|end|>\n'
        store.import_file(file_of(headed))
        store.add_turn("Hello.", role="assistant", continues="chat")
        went_on = "<|start|>assistant<|channel|>final<|message|>Hello.<|end|>\n"
        assert store.export("chat", "2.2") == headed.replace(version, "2.2") + went_on
        with pytest.raises(Unrepresentable, match='drop="header"'):
            store.export("chat", "rwkv")

    def test_a_second_header_is_given_up_by_name_alone(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        store.import_file(file_of("version: 2.2\nmodel: m\n\n<|start|>user<|message|>Yo<|end|>\n", "other.ocml"))
        merge = store.add_turn("Both.", continues=["chat", "other"])
        with pytest.raises(Unrepresentable, match=r'a second header .*drop="header"'):
            store.export(merge.id)
        assert "version" not in store.export(merge.id, drop=["header"])

    def test_a_second_header_that_says_its_version_alone_is_in_nobody_s_way(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        went_on = "<|start|>user<|message|>More<|end|>\n"
        store.import_file(file_of("version: 2.2\n\n" + went_on), continues="chat")
        assert store.export("chat") == HEADED + went_on

    def test_the_unread_rest_is_given_up_by_name_alone(self, store: Store) -> None:
        store.import_file(file_of("<|start|>user<|message|>Hi<|end|>\n<|start|>assist"), "2.2", partial=True)
        with pytest.raises(Unrepresentable, match=r'unread rest .*drop="tail"'):
            store.export("chat")
        store.add_turn("Hello.", role="assistant", continues="chat")
        with pytest.raises(Unrepresentable, match=r'unread rest .*drop="tail"'):
            store.export("chat")
        assert "Hello." in store.export("chat", drop=["tail"])

    def test_only_what_a_user_may_see(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        assert store.export("chat", "rwkv", as_user=True) == (
            "<<USER>>\nHi\n<<USER_END>>\n\n<<ASSISTANT>>\nHello.\n<<ASSISTANT_END>>\n"
        )

    def test_a_prompt_for_the_next_answer(self, store: Store) -> None:
        store.import_file(file_of(HEADED))
        store.add_turn("And now?", continues="chat")
        assert store.export("chat", "harmony", drop=["header"], for_completion=True) == (
            "<|start|>user<|message|>Hi<|end|><|start|>assistant<|message|>Hello.<|end|>"
            "<|start|>user<|message|>And now?<|end|><|start|>assistant"
        )


class TestBadFiles:
    def test_nothing_of_a_file_that_does_not_parse_is_stored(self, store: Store) -> None:
        with unchanged(store), pytest.raises(InvalidTranscript) as error:
            store.import_file(file_of(HEADED + "<|start|>user<|message|>cut"))
        assert error.value.code == "E-STREAM-TRUNCATED"

    def test_it_is_kept_as_a_document_on_request(self, store: Store) -> None:
        text = HEADED + "<|start|>user<|message|>cut"
        with pytest.raises(InvalidTranscript) as refused:
            store.import_file(file_of(text), keep_raw=True)
        kept = store.get("@")
        assert store.payload(kept.id) == text.encode()
        assert kept.meta.document_name == "chat.ocml"
        assert refused.value.__notes__ == [f"the file is kept as a document: turn {kept.id}"]
        with unchanged(store), pytest.raises(InvalidTranscript) as again:
            store.import_file(file_of(text), keep_raw=True)
        assert again.value.__notes__ == refused.value.__notes__

    def test_the_command_says_that_it_is_kept_of_one_file_and_of_many(self, tmp_path: Path) -> None:
        for name, end in (("good", "<|end|>"), ("cut", "")):
            (tmp_path / f"{name}.txt").write_text(f"{HEADED}<|start|>user<|message|>more{end}")
        command, cut = Command(str(tmp_path / "ours.db")), str(tmp_path / "cut.txt")
        for files in ([cut], [cut, str(tmp_path / "good.txt")], [cut]):
            assert "; the file is kept as a document: turn 0" in command.run("import", "--keep-raw", *files).err
        assert command("stats", "--json").json["turns"] == 5

    def test_what_came_of_it_is_stored_on_request(self, store: Store) -> None:
        text = HEADED + "<|start|>user<|message|>cut"
        store.import_file(file_of(text), partial=True)
        assert store.get("chat").meta.attributes.stop == "none"
        assert store.export("chat") == text

    def test_a_transcript_without_messages_is_refused(self, store: Store) -> None:
        with unchanged(store), pytest.raises(InvalidImport, match="without messages"):
            store.import_file(file_of("version: 2.2\n\n"))

    def test_an_unknown_format_is_named_before_the_file_is_read(self, store: Store, tmp_path: Path) -> None:
        with pytest.raises(UnknownFormat):
            store.import_file(tmp_path / "nowhere", "docx")

    def test_a_stream_that_cannot_be_rewound_is_read_all_the_same(self, store: Store) -> None:
        class Pipe(io.BytesIO):
            def seekable(self) -> bool:
                return False

            def seek(self, *_: Any) -> int:
                raise OSError("a pipe")

        assert store.import_file(Pipe(HEADED.encode()), "2.2").added == 3
        assert texts(store)[-1] == "Hello."


class TestNames:
    def test_a_name_that_was_asked_for_moves_and_that_of_the_file_does_not(self, store: Store) -> None:
        store.add_turn("elsewhere", bookmark="chat")
        tip = store.import_file(file_of(HEADED)).tips[0]
        assert store.get("chat").id != tip
        with pytest.raises(BookmarkTaken):
            store.import_file(file_of(HEADED), bookmark="chat")
        store.bookmarks.set("chat", f"{tip}~1")
        assert store.import_file(file_of(HEADED), bookmark="chat").bookmarks == 1
        assert store.get("chat").id == tip
        assert store.import_file(file_of(HEADED), bookmark="chat").bookmarks == 0


class TestGoingOn:
    """An import that continues a thread: completions begin inside a header, and answers come from elsewhere."""

    COMPLETION = "<|channel|>final<|message|>Hello.<|end|>"

    def test_a_completion_follows_the_turn_that_it_answers(self, store: Store) -> None:
        asked = store.add_turn("Hi", bookmark="main")
        done = store.import_file(file_of(self.COMPLETION), "harmony", continues="main", start_role="assistant")
        assert (done.added, store.get("main").id) == (1, done.tips[0])
        assert store.get("main").meta.continues == (asked.id,)
        assert store.export("main").endswith("<|start|>assistant<|channel|>final<|message|>Hello.<|end|>\n")

    def test_importing_it_again_stores_nothing_and_moves_nothing(self, store: Store) -> None:
        asked = store.add_turn("Hi", bookmark="main")
        settings: dict[str, Any] = {"continues": asked.id, "start_role": "assistant"}
        first = store.import_file(file_of(self.COMPLETION), "harmony", **settings)
        with unchanged(store):
            again = store.import_file(file_of(self.COMPLETION), "harmony", **settings)
        assert (again.added, again.tips) == (0, first.tips)

    def test_only_a_name_that_was_continued_moves(self, store: Store) -> None:
        asked = store.add_turn("Hi", bookmark="main")
        store.import_file(file_of(self.COMPLETION), "harmony", continues=asked.id, start_role="assistant")
        assert store.get("main").id == asked.id
        assert list(store.bookmarks) == ["main"]

    def test_the_base_model_s_tokens_may_be_spelled_otherwise(self, store: Store) -> None:
        text = "<s><|im_start|>user\nhi\n<|im_end|></s>\n"
        store.import_file(file_of(text), "v0.1", bos="<s>", eos="</s>")
        assert store.export("chat", "v0.1", bos="<s>", eos="</s>") == text

    def test_what_headish_writes_may_be_tight(self, store: Store) -> None:
        store.import_file(file_of("<|im_start|>user\nhi\n<|im_end|>\n"), "v0.1")
        store.add_turn("Yo.", role="assistant", continues="chat")
        assert store.export("chat", "v0.1", tight=True) == (
            "<|im_start|>user\nhi\n<|im_end|>\n<|im_start|>assistant\nYo.<|im_end|>\n"
        )

    @pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
    def test_the_messages_of_an_api_come_and_go(self, store: Store, api: str) -> None:
        store.add_turn("Hi", bookmark="main")
        call = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
        store.add_turn([call], role="assistant", continues="main")
        store.add_turn([{"type": "tool_result", "tool_use_id": "c1", "name": "f", "content": ["1"]}], role="tool",
                       continues="main")  # fmt: skip
        body = store.export("main", api)
        done = store.import_file(file_of(body), api, bookmark="again")
        assert done.messages == 3
        assert store.export("again", api) == body
        assert store.import_file(file_of(body), api, bookmark="again").added == 0

    def test_a_relaxed_import_leaves_by_a_relaxed_export(self, store: Store) -> None:
        text = "<|start|>user<|constrain|>json<|message|>no<|end|>\n"
        store.import_file(file_of(text), strict=False)
        with pytest.raises(Unrepresentable, match="E-BODY-CONSTRAINT-VIOLATION"):
            store.export("chat")
        assert store.export("chat", strict=False) == text


class TestAttributes:
    @pytest.mark.parametrize(("attributes", "path"), [
        ({"channel": "nope"}, "channel"), ({"stop": "now"}, "stop"), ({"speaker": "a b"}, "speaker"),
        ({"intent": "x<|message|>"}, "intent"), ({"recipient": ""}, "recipient"),
    ])  # fmt: skip
    def test_what_no_header_can_say_is_refused_before_it_is_stored(
        self, store: Store, attributes: dict[str, str], path: str
    ) -> None:
        with unchanged(store), pytest.raises(InvalidContent, match=rf"\$\.{path}"):
            store.add_turn("hi", attributes=attributes)
