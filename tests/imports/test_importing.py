"""Open Assistant trees: each message a turn, each list of replies a fork, nothing twice, nothing lost."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store, emit
from headish.errors import InvalidArgument, InvalidImport, UnknownFormat
from headish.imports import source_files
from support.growing import texts
from support.insides import unchanged
from support.places import Place
from support.providers.emitted import check_anthropic
from support.shared import OASST, needs_shared
from support.transcripts.openchatml import read_openchatml


def message(text: str, *replies: dict[str, Any], role: str = "prompter", **more: Any) -> dict[str, Any]:
    return {"message_id": f"id of {text}", "text": text, "role": role, **more, "replies": list(replies)}


def tree(name: str, root: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"message_tree_id": name, **more, "prompt": root}


def as_file(*trees: object) -> io.BytesIO:
    file = io.BytesIO("".join(json.dumps(each) + "\n" for each in trees).encode())
    file.name = "trees.jsonl"
    return file


CAPITAL = tree(
    "capital",
    message(
        "Capital of Peru?",
        message("Lima.", message("And Chile?"), role="assistant", rank=1, model_name="a-model"),
        message("Cusco.", role="assistant", rank=0),
        lang="en",
    ),
    tree_state="ready_for_export",
)


class TestTrees:
    def test_every_message_is_a_turn_and_every_reply_a_branch(self, store: Store) -> None:
        done = store.import_file(as_file(CAPITAL))
        assert (done.trees, done.messages, done.added, done.bookmarks) == (1, 4, 4, 1)
        assert [(turn.role, turn.content[0].text) for turn in store.tree("capital")] == [  # type: ignore[union-attr]
            ("user", "Capital of Peru?"),
            ("assistant", "Lima."),
            ("user", "And Chile?"),
            ("assistant", "Cusco."),
        ]
        lima, cusco = store.children("capital")
        assert [turn.meta.continues for turn in (lima, cusco)] == [(store.get("capital").id,)] * 2

    def test_what_a_message_says_beside_its_text_is_kept(self, store: Store) -> None:
        store.import_file(as_file(CAPITAL))
        assert store.get("capital").meta.app == {
            "oasst": {
                "message_tree_id": "capital",
                "tree_state": "ready_for_export",
                "message_id": "id of Capital of Peru?",
                "lang": "en",
            }
        }
        assert store.children("capital")[0].meta.app == {
            "oasst": {"message_id": "id of Lima.", "rank": 1, "model_name": "a-model"}
        }

    def test_the_root_is_bookmarked_and_no_other_name_moves(self, store: Store) -> None:
        store.import_file(as_file(CAPITAL))
        assert [bookmark.name for bookmark in store.bookmarks.list()] == ["capital"]
        assert store.get("capital").meta.continues == ()
        assert all(turn.meta.bookmark is None for turn in store.turns())

    @pytest.mark.parametrize("format", ["oasst", None])
    def test_a_bookmark_cannot_name_several_trees(self, store: Store, format: str | None) -> None:
        with unchanged(store), pytest.raises(InvalidArgument, match="bookmark is for one thread"):
            store.import_file(as_file(CAPITAL), format, bookmark="main")

    def test_a_second_import_stores_nothing(self, store: Store) -> None:
        store.import_file(as_file(CAPITAL))
        with unchanged(store):
            done = store.import_file(as_file(CAPITAL))
        assert (done.messages, done.added, done.bookmarks) == (4, 0, 0)

    def test_a_grown_tree_stores_only_what_grew(self, store: Store) -> None:
        store.import_file(as_file(CAPITAL))
        grown = json.loads(json.dumps(CAPITAL))
        grown["prompt"]["replies"][1]["replies"].append(message("Really?"))
        assert store.import_file(as_file(grown)).added == 1
        assert len(store.tree("capital")) == 5

    def test_a_name_that_somebody_moved_stays_where_it_is(self, store: Store) -> None:
        store.import_file(as_file(CAPITAL))
        lima = store.children("capital")[0]
        store.bookmarks.set("capital", lima.id)
        store.import_file(as_file(CAPITAL))
        assert store.get("capital") == lima

    def test_of_two_trees_with_one_name_the_first_has_it(self, store: Store) -> None:
        done = store.import_file(
            as_file(tree("same", message("one")), tree("other", message("x")), tree("same", message("two")))
        )
        assert (done.added, done.bookmarks) == (3, 2)
        assert texts(store, "same") == ["one"]

    def test_two_replies_of_the_same_text_are_two_turns_and_stay_two(self, store: Store) -> None:
        twice = tree("twice", message("Hi?", message("Hello.", role="assistant"), message("Hello.", role="assistant")))
        assert store.import_file(as_file(twice)).added == 3
        assert store.import_file(as_file(twice)).added == 0

    def test_a_tree_may_be_as_deep_as_json_is_read(self, place: Place) -> None:
        """To 128 levels; a message takes two of them."""
        deep = message("bottom")
        for level in range(60):
            deep = message(str(level), deep)
        assert place.open().import_file(as_file(tree("deep", deep))).added == 61

    def test_blank_lines_are_skipped(self, store: Store) -> None:
        file = io.BytesIO(b"\n \n" + as_file(CAPITAL).getvalue() + b"\n")
        assert store.import_file(file, "oasst").trees == 1


class TestNames:
    """A tree of the data sets has a UUID: what it says names it, where its best-ranked branch ends."""

    ID = "00df03d2-7e6b-4b98-a537-776567d10601"

    def named(self, id: str) -> dict[str, Any]:
        return tree(
            id,
            message(
                "Capital of Peru?\nIn one word.",
                message("Cusco.", role="assistant", rank=2),
                message("Lima.", message("And Chile?"), message("And why?"), role="assistant", rank=1),
                message("Who asks?", message("I do."), role="assistant"),
            ),
        )

    def test_its_words_name_the_end_of_the_branch_that_was_ranked_best(self, store: Store) -> None:
        assert store.import_file(as_file(self.named(self.ID))).bookmarks == 1
        assert [each.name for each in store.bookmarks.list()] == ["capital-of-peru"]
        assert texts(store, "capital-of-peru") == ["Capital of Peru?\nIn one word.", "Lima.", "And Chile?"]
        told = store.conversations.find(f"oasst:{self.ID}")
        assert (told.record.title, told.record.key) == ("Capital of Peru?", f"oasst:{self.ID}")
        assert store.verify().problems == ()

    @pytest.mark.parametrize("id", [ID, "capital"])
    def test_a_name_that_went_with_its_words_does_not_come_back(self, store: Store, id: str) -> None:
        store.import_file(as_file(self.named(id)))
        [name] = store.bookmarks
        store.erase(name, scope="thread", reason="asked for")
        assert list(store.bookmarks) == []
        assert store.import_file(as_file(self.named(id))).bookmarks == 0

    def test_a_second_import_leaves_a_name_that_somebody_moved_or_gave(self, store: Store) -> None:
        store.import_file(as_file(self.named(self.ID)))
        store.bookmarks.rename("capital-of-peru", "peru")
        store.bookmarks.set("peru", "peru~1")
        with unchanged(store):
            done = store.import_file(as_file(self.named(self.ID)))
        assert (done.added, done.bookmarks) == (0, 0)

    def test_trees_that_begin_alike_have_names_of_their_own(self, store: Store) -> None:
        other = self.named(self.ID.replace("00df", "11df"))
        assert store.import_file(as_file(self.named(self.ID), other)).bookmarks == 2
        assert [each.name for each in store.bookmarks.list()] == ["capital-of-peru", "capital-of-peru-11df03d2"]

    def test_a_long_prompt_is_cut_and_an_id_that_only_begins_like_one_is_a_name(self, store: Store) -> None:
        store.import_file(
            as_file(tree(self.ID, message("word " * 100)), tree(f"{self.ID}-x", message("q", message("a"))))
        )
        assert store.conversations.find(f"oasst:{self.ID}").record.title == ("word " * 40).strip()
        assert texts(store, f"{self.ID}-x") == ["q"]

    @pytest.mark.parametrize("rank", [None, True, "0", 0.5, [], -3])
    def test_a_rank_that_is_none_loses(self, store: Store, rank: Any) -> None:
        replies = [message("a", role="assistant", rank=rank), message("b", role="assistant", rank=-2)]
        store.import_file(as_file(tree(self.ID, message("Q", *replies))))
        assert texts(store, "q")[-1] == ("a" if rank == -3 else "b")


class TestStreaming:
    @pytest.mark.slow
    def test_a_file_is_read_as_it_is_stored(self, store: Store) -> None:
        """Memory holds a batch: the file is asked for more only when a batch is in the store."""
        stored_when_read: list[int] = []

        class Endless(io.RawIOBase):
            def readline(self, size: int | None = -1, /) -> bytes:  # type: ignore[override]
                index = len(stored_when_read)
                stored_when_read.append(store.stats().turns if index == 1100 else 0)
                return b"" if index == 1200 else as_file(tree(f"t{index}", message(str(index)))).getvalue()

        done = store.import_file(Endless(), "oasst", progress=None)  # type: ignore[arg-type]
        assert done.added == 1200
        assert stored_when_read[1100] == 1000

    def test_progress_tells_every_byte(self, store: Store) -> None:
        told: list[int] = []
        file = as_file(CAPITAL, tree("b", message("x")))
        store.import_file(file, progress=told.append)
        assert sum(told) == len(file.getvalue())

    def test_a_path_and_an_open_file_give_the_same(self, store: Store, tmp_path: Any) -> None:
        (tmp_path / "trees.jsonl").write_bytes(as_file(CAPITAL).getvalue())
        assert store.import_file(tmp_path / "trees.jsonl").added == 4
        assert store.import_file(str(tmp_path / "trees.jsonl")).added == 0


class TestBadFiles:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("{", "it is not JSON"),
            ("[]", "a tree is an object whose `prompt` is its root message"),
            ('{"prompt": {"text": "x", "role": "prompter"}}', "its message_tree_id cannot be a bookmark"),
            (json.dumps(tree("a b", message("x"))), "it holds whitespace"),
            (json.dumps(tree("a", message("x", role="king"))), "unknown role 'king'"),
            (json.dumps(tree("a", message("x", role=["king"]))), r"unknown role ['king']"),
            (json.dumps(tree("a", {"role": "prompter"})), "a message is an object with a `text`"),
            (json.dumps(tree("a", {"role": "prompter", "text": "x", "replies": 1})), "`replies` must be a list"),
            (json.dumps(tree("a", message("x", message("y"), note=1))).replace('"note": 1', '"note": NaN'), "NaN"),
            ('{"a": 1, "a": 2}', "the key 'a' appears twice"),
            (json.dumps(tree("a", message("\ud800"))), "surrogate"),
            ('{"a":' * 200 + "1" + "}" * 200, "more than 128"),
        ],
    )  # fmt: skip
    def test_a_line_that_is_no_tree_is_named_and_its_tree_not_stored(
        self, store: Store, line: str, reason: str
    ) -> None:
        store.import_file(as_file(tree("before", message("x"))))
        file = io.BytesIO(f"{line}\n".encode() + as_file(tree("behind", message("z"))).getvalue())
        file.name = "bad.jsonl"
        told: list[str] = []
        done = store.import_file(file, "oasst", told=lambda note: told.append(str(note)))
        assert (done.broken, done.added, len(store.heads())) == (1, 1, 2)
        [broken] = told
        assert broken.startswith("bad.jsonl, line 1: broken: ")
        assert reason in broken

    def test_a_line_that_is_too_long_costs_itself_and_is_read_in_pieces(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(source_files, "IMPORT_LINE_BYTES", 2000)
        monkeypatch.setattr(source_files, "CHUNK_BYTES", 7)

        class Pieces(io.BytesIO):
            def readline(self, size: int | None = -1, /) -> bytes:
                assert size in (2001, 7)
                return super().readline(size)

        file = as_file(tree("a", message("x")), tree("b", message("y" * 5000)), tree("c", message("z")))
        told: list[str] = []
        done = store.import_file(Pieces(file.getvalue()), "oasst", told=lambda note: told.append(str(note)))
        assert (done.added, done.broken, len(store.heads())) == (2, 1, 2)
        assert told == ["the input, line 2: broken: the line is longer than 67,108,864 bytes"]

    def test_a_missing_file_and_an_unknown_format_are_named(self, store: Store, tmp_path: Any) -> None:
        with pytest.raises(InvalidImport, match="it cannot be read"):
            store.import_file(tmp_path / "nowhere.jsonl")
        with pytest.raises(UnknownFormat, match="known are chatgpt"):
            store.import_file(tmp_path / "nowhere.jsonl", "other")

    @given(data=st.binary(max_size=60) | st.from_regex(rb'\{"prompt":\{"text":.{0,9},"role":"prompter".{0,20}'))
    def test_arbitrary_bytes_raise_only_the_named_error(self, place: Place, data: bytes) -> None:
        with place.fresh() as store:
            try:
                store.import_file(io.BytesIO(data), "oasst")
            except InvalidImport:
                assert store.stats().turns == 0


@pytest.mark.slow
@needs_shared
class TestRealTrees:
    @pytest.fixture
    def trees(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in OASST.read_text("utf-8").splitlines()]

    def test_every_path_of_every_tree_resolves_and_is_emitted(self, place: Place, trees: list[dict[str, Any]]) -> None:
        store = place.open()
        done = store.import_file(OASST)
        paths = [path for each in trees for path in _paths(each["prompt"])]
        assert done.messages == store.stats().turns == sum(len(list(_messages(each["prompt"]))) for each in trees)
        resolved = []
        for head in store.heads():
            window = store.resolve(head.id)
            said = [(message.role, message.content[0].text) for message in window.messages]  # type: ignore[union-attr]
            resolved.append(said)
            frames = read_openchatml(str(emit(window, "openchatml")))
            assert [(frame.role, frame.body) for frame in frames] == said
            body = emit(window, "anthropic")
            assert isinstance(body, dict)
            check_anthropic(body)
            emitted = [(turn["role"], block["text"]) for turn in body["messages"] for block in turn["content"]]
            assert emitted == said
        assert sorted(resolved) == sorted(paths)
        assert store.verify().problems == ()


def _messages(root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield root
    for reply in root["replies"]:
        yield from _messages(reply)


def _paths(root: dict[str, Any]) -> Iterator[list[tuple[str, str]]]:
    """From the root to each message without replies."""
    here = ("user" if root["role"] == "prompter" else root["role"], root["text"])
    if not root["replies"]:
        yield [here]
    for reply in root["replies"]:
        for path in _paths(reply):
            yield [here, *path]


class TestKeys:
    def test_a_message_is_found_by_the_id_that_its_source_gave_it(self, store: Store) -> None:
        store.import_file(as_file(CAPITAL))
        assert store.find("oasst:id of Lima.") == store.children("capital")[0]
        assert store.verify().problems == ()

    def test_a_changed_message_takes_the_place_of_the_first_once(self, store: Store) -> None:
        store.import_file(as_file(CAPITAL))
        lima = store.find("oasst:id of Lima.")
        for number, text in enumerate(("Lima!", "Lima, of course."), 2):
            changed = json.loads(json.dumps(CAPITAL))
            changed["prompt"]["replies"][0]["text"] = text
            assert store.import_file(as_file(changed)).added == 1
            newest = store.find("oasst:id of Lima.")
            assert (store.text(newest.id), newest.meta.key) == (text, f"oasst:id of Lima.;{number}")
            assert newest.meta.continues == lima.meta.continues
            with unchanged(store):
                store.import_file(as_file(changed))
        with unchanged(store):
            assert store.import_file(as_file(CAPITAL)).added == 0  # as it was: the first version says so
        assert store.verify().problems == ()

    def test_what_was_imported_before_there_were_keys_is_recognised(self, store: Store) -> None:
        without = json.loads(json.dumps(CAPITAL).replace('"message_id": "id of', '"id": "id of'))
        store.import_file(as_file(without))
        with unchanged(store):
            assert store.import_file(as_file(CAPITAL)).added == 0

    def test_equal_messages_of_two_ids_are_two(self, store: Store) -> None:
        twins = tree("t", message("q", message("a", message_id="1"), message("a", message_id="2")))
        assert store.import_file(as_file(twins)).added == 3
        with unchanged(store):
            store.import_file(as_file(twins))

    @pytest.mark.parametrize("together", [True, False])
    def test_two_messages_of_one_id_are_both_kept(self, store: Store, together: bool) -> None:
        one = tree("one", message("q", message("a", message_id="same")))
        other = tree("other", message("r", message("b", message_id="same")))
        files = [as_file(one, other)] if together else [as_file(one), as_file(other)]
        assert sum(store.import_file(file).added for file in files) == 4
        with unchanged(store):
            store.import_file(as_file(one, other))
            store.import_file(as_file(other, one))
        assert store.verify().problems == ()

    @pytest.mark.parametrize("message_id", [None, 7, "", "x" * 2000, "a\0b"])
    def test_what_can_be_no_key_is_none(self, store: Store, message_id: Any) -> None:
        file = tree("t", message("q", message_id=message_id))
        assert store.import_file(as_file(file)).added == 1
        assert store.get("t").meta.key is None
        assert store.import_file(as_file(file)).added == 0
