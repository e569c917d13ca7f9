"""ChatGPT's exports: the tree of each conversation, what the page hides, tools without ids, files in the archive."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headish import Store
from headish.content.secrecy import finding
from headish.errors import InvalidArgument, InvalidImport
from headish.imports import archives, drafting
from headish.imports.archives import Archive
from headish.imports.readers.shared import json_arrays
from support.insides import unchanged
from support.places import Place
from support.sources import as_source


def text(*parts: Any) -> dict[str, Any]:
    return {"content_type": "text", "parts": list(parts)}


def node(id: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    message = {
        "id": id, "author": author, "create_time": 1700000001.5, "update_time": None, "content": content,
        "status": "finished_successfully", "end_turn": None, "weight": 1.0, "metadata": {}, "recipient": "all",
        "channel": None, **more,
    }  # fmt: skip
    return {"id": id, "message": message, "parent": parent, "children": []}


def conversation(id: str, title: str | None, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    root = {"id": "root", "message": None, "parent": None, "children": []}
    return {
        "title": title, "create_time": 1700000000.5, "update_time": 1700000100.0,
        "mapping": {each["id"]: each for each in (root, *nodes)}, "moderation_results": [],
        "current_node": nodes[-1]["id"] if nodes else None, "conversation_id": id, "id": id, "is_archived": False,
        **more,
    }  # fmt: skip


MODEL = {"metadata": {"model_slug": "gpt-x", "finish_details": {"type": "stop"}}}
TIDES = conversation(
    "11111111-aaaa",
    "Tides: why two?",
    node("s", "root", "system", text(""), weight=0.0),
    node("q", "s", "user", text("Why two tides?")),
    node("a1", "q", "assistant", text("Because."), **MODEL),
    node("a2", "q", "assistant", text("Because."), **MODEL),
    node("more", "a2", "user", text("And the sun?")),
    is_starred=True,
)


def as_json(*conversations: Any) -> io.BytesIO:
    file = io.BytesIO(json.dumps(list(conversations)).encode())
    file.name = "conversations.json"
    return file


def as_zip(members: Mapping[str, Any]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data if isinstance(data, bytes) else json.dumps(data))
    file.name = "export.zip"
    file.seek(0)
    return file


def texts(store: Store, name: str) -> list[str]:
    return [each.text for each in store.resolve(name).messages]


class TestTrees:
    def test_every_branch_is_kept_and_the_current_one_has_the_name(self, store: Store) -> None:
        done = store.import_file(as_json(TIDES))
        assert (done.trees, done.messages, done.added, done.bookmarks, done.broken) == (1, 4, 4, 1, 0)
        assert texts(store, "tides-why-two") == ["Why two tides?", "Because.", "And the sun?"]
        assert len(store.heads()) == 2  # two answers of the same words stay two
        conversation = store.conversations.find("chatgpt:11111111-aaaa")
        assert (conversation.record.title, conversation.record.pinned) == ("Tides: why two?", True)
        assert store.verify().problems == ()

    def test_ids_times_and_models_are_kept(self, store: Store) -> None:
        store.import_file(as_json(TIDES))
        found = store.find("chatgpt:11111111-aaaa:a1")
        assert found.meta.reply == {"provider": "openai", "model": "gpt-x", "stop": "stop"}
        assert found.said_at.isoformat() == "2023-11-14T22:13:21.500000+00:00"
        assert found.meta.app["chatgpt"]["metadata"] == MODEL["metadata"]

    def test_a_second_import_stores_nothing_and_a_longer_one_its_tail(self, store: Store) -> None:
        store.import_file(as_json(TIDES))
        with unchanged(store):
            assert store.import_file(as_json(TIDES)).added == 0
        nodes = [*list(TIDES["mapping"].values())[1:], node("a3", "q", "assistant", text("Gravity."))]
        longer = conversation("11111111-aaaa", "Tides", *nodes)
        assert store.import_file(as_json(longer)).added == 1
        assert texts(store, "tides-why-two") == ["Why two tides?", "Gravity."]  # the name follows the page
        assert store.conversations.get("tides-why-two").record.title == "Tides"

    def test_a_title_and_a_name_that_somebody_changed_stay(self, store: Store) -> None:
        store.import_file(as_json(TIDES))
        store.bookmarks.rename("tides-why-two", "mine")
        store.conversations.set("mine", title="My tides")
        store.import_file(as_json({**TIDES, "title": "Other", "current_node": "a1"}))
        assert (store.conversations.get("mine").record.title, texts(store, "mine")[-1]) == ("My tides", "Because.")
        assert [each.name for each in store.bookmarks.list()] == ["mine"]

    def test_equal_titles_get_names_of_their_own(self, store: Store) -> None:
        same = [conversation(f"{number}-x", "New chat", node("q", None, "user", text("hi"))) for number in range(3)]
        assert store.import_file(as_json(*same)).bookmarks == 3
        assert [each.name for each in store.bookmarks.list()] == ["new-chat", "new-chat-1-x", "new-chat-2-x"]

    @pytest.mark.parametrize("title", [None, "", "~^:{}", "..", "\u202e", "x" * 4000, "a\0b", "-n", "😀 日本"])
    def test_any_title_gives_a_name(self, store: Store, title: str | None) -> None:
        done = store.import_file(as_json(conversation("22222222-b", title, node("q", None, "user", text("hi")))))
        assert (done.bookmarks, done.broken) == (1, 0)

    def test_a_parent_or_a_tip_that_is_missing_is_lived_with(self, store: Store) -> None:
        odd = conversation("3", "Odd", node("q", "gone", "user", text("one")), node("w", "q", "user", text("two")))
        store.import_file(as_json({**odd, "current_node": "gone"}))
        assert texts(store, "odd") == ["one", "two"]


class TestAFirstQuestionThatWasEdited:
    """It is a version of the one before it: one conversation, as it was one there."""

    def edited(self, *more: dict[str, Any], system: bool) -> io.BytesIO:
        above = "s" if system else "root"
        begun = [node("s", "root", "system", text("Be brief."))] if system else []
        return as_json(conversation(
            "7", "Tides", *begun,
            node("q1", above, "user", text("Why tides?")), node("a1", "q1", "assistant", text("Eh?")),
            node("q2", above, "user", text("Why two tides?")), node("a2", "q2", "assistant", text("Gravity.")), *more,
        ))  # fmt: skip

    @pytest.mark.parametrize("system", [True, False], ids=["behind a system prompt", "without one"])
    def test_is_no_other_conversation(self, store: Store, system: bool) -> None:
        done = store.import_file(self.edited(system=system))
        assert (done.messages, done.added, done.bookmarks) == (4 + system, 4 + system, 1)
        assert texts(store, "tides")[-2:] == ["Why two tides?", "Gravity."]
        listed = store.conversations.list().entries
        assert [(each.conversation.name, each.title) for each in listed] == [("tides", "Tides")]
        first, second = (store.find(f"chatgpt:7:q{number}") for number in (1, 2))
        for each in (first, second):
            assert [turn.id for turn in store.siblings(each.id).turns] == [first.id, second.id]
        assert store.conversations.get(first.id).name == "tides"
        assert {each.id for each in store.tree("tides", limit=100)} == {each.id for each in store.tree("tides")} | {
            first.id
        }
        assert "Eh?" in str(store.render("tides", "markdown", branches=True))
        assert "Eh?" not in str(store.render("tides", "markdown"))
        assert store.verify().problems == ()
        with unchanged(store):
            assert store.import_file(self.edited(system=system)).added == 0

    def test_is_told_when_it_comes_later(self, store: Store) -> None:
        before = conversation("7", "Tides", node("q1", "root", "user", text("Why tides?")))
        store.import_file(as_json(before))
        more = node("q3", "root", "user", text("Why three?"))
        assert store.import_file(self.edited(more, system=False)).added == 4
        first, *later = (store.find(f"chatgpt:7:q{number}") for number in (1, 2, 3))
        assert [turn.id for turn in store.siblings("tides").turns] == [first.id, *(each.id for each in later)]
        assert len(store.conversations.list().entries) == 1

    def test_of_another_conversation_is_no_version(self, store: Store) -> None:
        one, other = (conversation(id, "Hi", node("s", "root", "system", text("Be brief.")),
                                   node("q", "s", "user", text(id))) for id in ("8", "9"))  # fmt: skip
        store.import_file(as_json(one, other))
        assert len(store.conversations.list().entries) == 2


class TestContent:
    def test_a_call_and_its_result_find_one_another(self, store: Store) -> None:
        code = {"content_type": "code", "language": "python", "response_format_name": None, "text": "1+1"}
        out = {"content_type": "execution_output", "text": "2"}
        store.import_file(as_json(conversation(
            "4", "Sum", node("q", None, "user", text("1+1?")), node("c", "q", "assistant", code, recipient="python"),
            node("o", "c", "tool", out, name="python"), node("a", "o", "assistant", text("2.")),
        )))  # fmt: skip
        blocks = [message.to_dict()["content"][0] for message in store.resolve("sum").messages]
        assert blocks[1:3] == [
            {"type": "tool_use", "name": "python", "id": "c", "input": {"language": "python", "text": "1+1"}},
            {"type": "tool_result", "tool_use_id": "c", "name": "python", "content": [{"type": "text", "text": "2"}]},
        ]
        assert json.dumps(store.resolve("sum").to_dict())

    def test_arguments_in_json_are_kept_as_they_are(self, store: Store) -> None:
        code = {"content_type": "code", "language": "json", "text": '{"query":"tides"}'}
        store.import_file(as_json(conversation("5", "Call", node("c", None, "assistant", code, recipient="search"))))
        [block] = store.resolve("call").messages[0].to_dict()["content"]
        assert block == {"type": "tool_use", "name": "search", "id": "c", "input": {"query": "tides"}}

    @pytest.mark.parametrize(
        ("content", "kinds", "is_whole"),
        [
            ({"content_type": "thoughts", "thoughts": [{"summary": "Hm", "content": "So"}]}, ["thinking"], True),
            ({"content_type": "reasoning_recap", "content": "Thought for 5s"}, ["thinking"], True),
            ({"content_type": "tether_quote", "url": "u", "title": "t", "text": "quoted"}, ["text"], False),
            ({"content_type": "tether_browsing_display", "result": "r", "summary": "s"}, ["text"], False),
            ({"content_type": "sonic_webpage", "url": "u", "text": "page"}, ["text"], False),
            ({"content_type": "execution_output", "text": "2"}, ["text"], True),
            ({"content_type": "user_editable_context", "user_profile": "p", "user_instructions": "i"},
             ["text", "text"], True),
            ({"content_type": "system_error", "name": "e", "text": "failed"}, ["text"], False),
            ({"content_type": "from the future", "what": 1}, ["provider"], False),
            # Known kinds in another shape.
            ({"content_type": "thoughts", "thoughts": "So"}, ["provider"], False),
            ({"content_type": "thoughts", "thoughts": ["So"]}, ["provider"], False),
            ({"content_type": "text", "text": "Hi"}, ["text"], False),
            ({"content_type": "text", "parts": "Hi"}, ["provider"], False),
            ({"content_type": "code", "language": "python", "parts": ["1+1"]}, ["text"], False),
            ({"content_type": "reasoning_recap", "content": {"seconds": 5}}, ["provider"], False),
            ({"content_type": "multimodal_text", "parts": [{"content_type": "text", "text": "see"}]}, ["text"], True),
            ({"content_type": "multimodal_text", "parts": ["see", {"asset_pointer": "sediment://file_1"}]},
             ["text", "provider"], True),
        ],
    )  # fmt: skip
    def test_every_kind_is_kept(self, store: Store, content: Any, kinds: list[str], is_whole: bool) -> None:
        """As it was, too, where its blocks do not hold all that it says."""
        done = store.import_file(as_json(conversation("6", "Kinds", node("q", None, "user", content))))
        assert [block["type"] for block in store.resolve("kinds").messages[0].to_dict()["content"]] == kinds
        assert done.broken == 0
        assert store.get("kinds").meta.app["chatgpt"].get("content") == (None if is_whole else content)

    @pytest.mark.parametrize("content", [
        text(), text("", ""), {"content_type": "thoughts", "thoughts": [], "source_analysis_msg_id": "m"},
        {"content_type": "thoughts", "thoughts": [{"summary": "", "content": "", "finished": False}]},
        {"content_type": "code", "language": "unknown", "response_format_name": None, "text": ""},
        {"content_type": "user_editable_context", "user_profile": "", "user_instructions": {"about": [""]}},
    ])  # fmt: skip
    def test_a_message_without_words_is_left_out(self, store: Store, content: Any) -> None:
        said = node("q", "e", "user", text("Hi"))
        done = store.import_file(as_json(conversation("6", "Empty", node("e", None, "assistant", content), said)))
        assert (texts(store, "empty"), done.unmapped) == (["Hi"], {"empty message (left out)": 1})

    def test_a_thought_that_has_a_summary_alone_says_that(self, store: Store) -> None:
        thoughts = [{"summary": "Tides", "content": ""}, {"summary": "", "content": ""}, {"summary": "Sun"},
                    {"summary": "Moon", "content": "It pulls."}]  # fmt: skip
        content = {"content_type": "thoughts", "thoughts": thoughts}
        store.import_file(as_json(conversation("6", "Thoughts", node("t", None, "assistant", content))))
        [thought] = store.resolve("thoughts").messages
        assert [block.text for block in thought.content] == ["Tides", "Sun", "It pulls."]
        assert [block.opaque["openai"]["summary"] for block in thought.content] == ["Tides", "Sun", "Moon"]

    def test_a_content_that_nests_deep_is_kept_or_reported(self, store: Store) -> None:
        deep: Any = "Hi"
        for _ in range(900):
            deep = [deep]
        said = node("q", "e", "user", text("Hi"))
        content = {"content_type": "thoughts", "thoughts": deep}
        done = store.import_file(as_json(conversation("6", "Deep", node("e", None, "assistant", content), said)))
        assert (texts(store, "deep"), done.broken) == (["Hi"], 1)

    def test_words_of_the_analysis_channel_are_reasoning(self, store: Store) -> None:
        """As in Harmony: the page does not show them. A call in that channel stays a call."""
        thought = node("t", None, "assistant", text("Two bulges."), channel="analysis")
        call = node("c", "t", "assistant", text("1+1"), channel="analysis", recipient="python")
        told = node("a", "c", "assistant", text("Because."), channel="final")
        asked = node("u", "a", "user", text("Hm"), channel="analysis")
        store.import_file(as_json(conversation("6", "Channels", thought, call, told, asked)))
        said = [each.to_dict()["content"][0] for each in store.resolve("channels").messages]
        assert [block["type"] for block in said] == ["thinking", "tool_use", "text", "text"]
        assert (said[0]["text"], said[0]["provider"]) == ("Two bulges.", "openai")

    def test_a_developer_speaks_as_one(self, store: Store) -> None:
        store.import_file(as_json(conversation("6", "Roles", node("d", None, "developer", text("Be brief.")))))
        assert store.get("roles").meta.role == "developer"

    def test_what_the_page_hides_is_noted(self, store: Store) -> None:
        unseen = {"metadata": {"is_visually_hidden_from_conversation": True}}
        store.import_file(as_json(conversation(
            "7", "Hidden", node("p", None, "user", text("me"), **unseen), node("w", "p", "tool", text("x"), weight=0),
            node("b", "w", "user", text("both"), weight=0, **unseen), node("q", "b", "user", text("hi")),
        )))  # fmt: skip
        hidden = [store.find(f"chatgpt:7:{id}").meta.attributes.hidden for id in "pwbq"]
        assert hidden == ["people", "model", "both", None]


class TestArchives:
    def test_files_in_the_archive_become_documents(self, store: Store) -> None:
        image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-AbC1", "size_bytes": 3}
        attached = {"attachments": [{"id": "file-XyZ2", "name": "r.txt"}, {"id": "file-gone", "name": "n.txt"}]}
        said = node("q", None, "user", {"content_type": "multimodal_text", "parts": [image, "See"]}, metadata=attached)
        store.import_file(as_zip({
            "conversations.json": [conversation("8", "Files", said)], "user.json": {}, "chat.html": b"<html>",
            "file-AbC1-photo.png": b"\x89PNG", "file-XyZ2-r.txt": b"rye",
        }))  # fmt: skip
        blocks = store.resolve("files").messages[0].to_dict()["content"]
        assert [(each["type"], each.get("name")) for each in blocks] == [
            ("document", "file-AbC1-photo.png"), ("text", None), ("document", "r.txt"),
        ]  # fmt: skip
        assert blocks[2]["source"] == {"type": "base64", "media_type": "text/plain", "data": "cnll"}

    def test_what_was_said_aloud_comes_with_its_recording(self, store: Store) -> None:
        heard = {"content_type": "audio_transcription", "text": "Why two tides?", "direction": "in"}
        recording = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_ab1", "format": "wav"}
        frame = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_ab2"}
        spoken = {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": recording,
                  "video_container_asset_pointer": None, "frames_asset_pointers": [frame]}  # fmt: skip
        said = conversation("8", "Voice", node("q", None, "user", {"content_type": "multimodal_text",
                                                                   "parts": [heard, spoken]}))  # fmt: skip
        files = {"file_ab1-1.dat": b"RIFF\4\0\0\0WAVE", "file_ab2-1.dat": b"\x89PNG\r\n\x1a\n"}
        store.import_file(as_zip({"conversations.json": [said], **files}))
        blocks = store.resolve("voice").messages[0].to_dict()["content"]
        assert [(each["type"], each.get("asset")) for each in blocks] == [
            ("text", None), ("document", "file_ab1"), ("document", "file_ab2"),
        ]  # fmt: skip
        assert store.get("voice").meta.app["chatgpt"]["content"] == {"parts": [spoken]}

    def test_a_pointer_stays_if_one_of_its_files_is_missing(self, store: Store) -> None:
        recording, frame = ({"asset_pointer": f"sediment://file_{id}"} for id in ("ab1", "gone"))
        spoken = {"audio_asset_pointer": recording, "frames_asset_pointers": [frame]}
        said = node("q", None, "user", {"content_type": "multimodal_text", "parts": ["Hi", spoken]})
        store.import_file(as_zip({"conversations.json": [conversation("8", "Voice", said)], "file_ab1.dat": b"RIFF"}))
        blocks = store.resolve("voice").messages[0].to_dict()["content"]
        assert (blocks[0]["text"], blocks[1]["data"], len(blocks)) == ("Hi", spoken, 2)

    def test_too_many_files_for_one_turn_cost_no_words(self) -> None:
        ids = ["ab1", "ab2", "ab3"]
        pictures = [{"asset_pointer": f"sediment://file_{id}"} for id in ids]
        attached = {"attachments": [{"id": "file_ab4", "name": "r.txt"}]}
        said = node("q", None, "user", {"content_type": "multimodal_text", "parts": [*pictures, "Hi " * 300]},
                    metadata=attached)  # fmt: skip
        files = {f"file_{id}.dat": bytes(1200) for id in (*ids, "ab4")}
        with Store.open(":memory:", payload_limit_bytes=6000) as store:
            done = store.import_file(as_zip({"conversations.json": [conversation("8", "Many", said)], **files}))
            blocks = store.resolve("many").messages[0].to_dict()["content"]
        assert done.broken == 0
        assert [block["type"] for block in blocks] == ["document", "document", "provider", "text"]
        assert blocks[2]["data"] == pictures[2]

    def test_what_a_pointer_says_of_its_picture_is_kept(self, store: Store) -> None:
        drawn = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_ab1",
                 "metadata": {"dalle": {"prompt": "A cat in the rain"}}}  # fmt: skip
        said = node("t", None, "tool", {"content_type": "multimodal_text", "parts": [drawn]})
        store.import_file(as_zip({"conversations.json": [conversation("8", "Cat", said)], "file_ab1.dat": b"\x89PNG"}))
        assert store.get("cat").meta.app["chatgpt"]["content"] == {"parts": [drawn]}

    def test_a_file_that_many_messages_point_at_is_unpacked_once(
        self, memory: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-AbC1", "size_bytes": 3}
        said = [
            node(
                f"n{each}",
                f"n{each - 1}" if each else None,
                "user",
                {"content_type": "multimodal_text", "parts": [image]},
            )
            for each in range(5)
        ]
        opened: list[str] = []
        read = Archive.read

        def told(self: Archive, member: str, limit_bytes: int) -> bytes | None:
            opened.append(member)
            return read(self, member, limit_bytes)

        monkeypatch.setattr(Archive, "read", told)
        done = memory.import_file(
            as_zip({"conversations.json": [conversation("8", "Files", *said)], "file-AbC1-photo.png": b"\x89PNG"})
        )
        assert (done.added, opened) == (5, ["file-AbC1-photo.png"])

    def test_split_and_nested_archives_are_read(self, store: Store) -> None:
        one, two = (conversation(f"{id}-z", id, node("q", None, "user", text(id))) for id in ("one", "two"))
        inner = as_zip({"x/conversations-000.json": [one], "x/conversations-001.json": [two]}).getvalue()
        assert store.import_file(as_zip({"outer/export.zip": inner, "readme.txt": b"x"})).trees == 2
        assert sorted(each.name for each in store.bookmarks.list()) == ["one", "two"]

    def test_an_archive_of_something_else_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidImport, match=r"no conversations\.json"):
            store.import_file(as_zip({"../conversations.json": [TIDES], "/conversations.json": [TIDES]}))
        with pytest.raises(InvalidImport, match="not a ZIP archive"):
            store.import_file(io.BytesIO(b"PK\x03\x04 and so on"))

    def test_a_bomb_is_refused(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archives, "HARMLESS_BYTES", 1000)
        said = json.dumps([conversation("9", "Bomb", node("q", None, "user", text("a")))]).encode()
        with unchanged(store), pytest.raises(InvalidImport, match="swells to more than 100 times"):
            store.import_file(as_zip({"conversations.json": said[:-1] + b" " * 10_000_000 + b"]"}))

    def test_a_damaged_archive_is_named(self, store: Store) -> None:
        data = bytearray(as_zip({"conversations.json": [TIDES] * 50}).getvalue())
        data[300:320] = bytes(20)
        with pytest.raises(InvalidImport):
            store.import_file(io.BytesIO(bytes(data)))


class TestLargeAndBroken:
    def test_a_record_that_is_broken_costs_itself(self, store: Store) -> None:
        told: list[str] = []
        deep: Any = []
        for _ in range(200):
            deep = [deep]
        broken = conversation("10", "Broken", node("q", None, "user", text("one")), node("w", "q", "user", None))
        broken["mapping"]["x"] = 7
        file = as_json({"title": "no mapping"}, broken, TIDES, conversation("11", "Deep", node("q", None, "user", {
            "content_type": "new", "deep": deep})))  # fmt: skip
        data = file.getvalue().replace(b'"title": "no mapping"', b'"title": oops [{"}{"}]')
        done = store.import_file(io.BytesIO(data), "chatgpt", told=lambda note: told.append(str(note)))
        assert (done.broken, done.trees) == (4, 2)
        assert texts(store, "broken") == ["one"]
        assert "the input, record 1: broken: it is not JSON" in told[0]

    def test_an_array_is_read_item_by_item(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_arrays, "CHUNK_BYTES", 7)
        said = ['quoted "}{][" \\ and \\" so on', "日本" * 20, "\\", ""]
        many = [
            conversation(f"c{number}", f"c{number}", node("q", None, "user", text(each, ".")))
            for number, each in enumerate(said)
        ]
        done = store.import_file(
            io.BytesIO(b"\xef\xbb\xbf \n" + json.dumps(many, ensure_ascii=False).encode()), "chatgpt"
        )
        assert (done.trees, done.broken) == (4, 0)
        assert [store.resolve(f"c{number}").messages[0].text for number in range(4)] == [each + "." for each in said]

    def test_items_of_any_depth_are_cut_apart_at_any_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        deep: Any = {"a": '"}]', "b": []}
        for depth in range(12):
            deep = {"in": [deep, depth]} if depth % 2 else [deep, {"}": "{"}]
        items = [{"x": [[[]]]}, deep, [], [[{}], deep], {"y": deep, "z": "\\"}]
        data = json.dumps(items).encode()
        for chunk in (1, 2, 3, 5, 11, 64, 10_000):
            monkeypatch.setattr(json_arrays, "CHUNK_BYTES", chunk)
            cut = json_arrays.split_items(as_source(io.BytesIO(data)))
            assert [json.loads(each or b"") for each in cut] == items

    def test_memory_holds_one_conversation(self, store: Store) -> None:
        asked: list[int] = []

        class Large(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                asked.append(size or 0)
                return super().read(size)

        many = [conversation(f"c{n}", f"c{n}", node("q", None, "user", text("x" * 20_000))) for n in range(200)]
        assert store.import_file(Large(as_json(*many).getvalue()), "chatgpt").trees == 200
        assert max(asked) <= 2 * json_arrays.CHUNK_BYTES
        assert min(asked) > 0

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"[{}", "ends in the middle"), (b'[{"a": "', "ends in the middle"), (b"[", "ends in the middle"),
            (b"12", "neither a JSON array nor an object"), (b"", "neither a JSON array nor an object"),
        ],
    )  # fmt: skip
    def test_what_is_cut_off_or_no_json_is_refused(self, store: Store, data: bytes, reason: str) -> None:
        with pytest.raises(InvalidImport, match=reason):
            store.import_file(io.BytesIO(data), "chatgpt")

    def test_of_an_export_that_is_cut_off_what_came_whole_is_imported_and_counted(self, store: Store) -> None:
        """As many as fit into a batch were stored before, and the error said of none that it was."""
        cut = as_json(TIDES, conversation("2", "Moon", node("q", None, "user", text("Why?")))).getvalue()[:-40]
        told = "the file ends in the middle of its JSON; the conversations before that are whole: 1"
        with unchanged(store), pytest.raises(InvalidImport, match=told):
            store.import_file(io.BytesIO(cut), "chatgpt", dry_run=True)
        with pytest.raises(InvalidImport, match=told.replace("whole", "imported")):
            store.import_file(io.BytesIO(cut), "chatgpt")
        assert [each.title for each in store.conversations.list().entries] == ["Tides: why two?"]
        assert store.import_file(as_json(TIDES), "chatgpt").added == 0

    def test_an_object_that_holds_the_conversations_is_read_too(self, store: Store) -> None:
        assert store.import_file(io.BytesIO(json.dumps({"conversations": [TIDES]}).encode())).trees == 1
        assert store.import_file(io.BytesIO(json.dumps(TIDES).encode())).added == 0

    def test_it_names_its_conversations_itself(self, store: Store) -> None:
        with pytest.raises(InvalidArgument, match="names its trees itself"):
            store.import_file(as_json(TIDES), bookmark="main")
        with pytest.raises(InvalidArgument, match="continues is for one thread"):
            store.import_file(as_json(TIDES), "chatgpt", continues="main")


def test_two_imports_of_one_file_at_once_store_it_once(durable_place: Place) -> None:
    stores = [durable_place.open() for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda store: store.import_file(as_json(TIDES)), stores))
    assert (sum(each.added for each in done), stores[0].stats().turns, len(stores[0].bookmarks)) == (4, 4, 1)


def test_keys_are_looked_for_once_in_each_message(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    glanced, looked = list[str](), list[object]()
    glance, look = drafting.is_quiet, finding.is_harmless
    monkeypatch.setattr(drafting, "is_quiet", lambda encoded: (glanced.append(encoded), glance(encoded))[1])
    monkeypatch.setattr(finding, "is_harmless", lambda value, prose: (looked.append(value), look(value, prose))[1])
    nodes = [node(f"m{each}", f"m{each - 1}" if each else "root", "user", text(f"Say {each}")) for each in range(20)]
    nodes[7]["message"]["metadata"] = {"sort_key": "name"}
    done = memory.import_file(as_json(conversation("22222222", "Long", *nodes)))
    assert done.added == 20
    assert sum("finished_successfully" in each for each in glanced) == 20
    assert sum("finished_successfully" in str(value) for value in looked) == 1
