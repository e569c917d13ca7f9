"""What is written down of answers that arrive: nothing that harms a call, a disk or another's eyes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.content.secrecy.hiding import hide_shapes
from headish.gateway.spool import CallBegin, SpooledCall, SpoolFrame, SpoolKind, SpoolWriter, arriving, begin
from headish.gateway.spool.arriving import (
    ANSWER_BYTES,
    ANSWERS_LIMIT,
    ARRIVING_FOLDER,
    PARTS_LIMIT,
    ArrivingCall,
    ArrivingPiece,
    ArrivingReader,
    read_watched,
    write_watched,
)
from headish.serve.recorder.arriving import ShownAnswers
from headish.serve.recorder.following import SpoolFollower
from headish.serve.recorder.recording import CallRecorder
from support.passed import (
    CLAUDE_CODE,
    PATHS,
    anthropic_answer,
    anthropic_body,
    assistant,
    events,
    passed,
    responses_answer,
    user,
)
from support.processes import open_files
from support.spools import frames_of

CALL = "1" * 25


def shown(folder: Path, describe: Any = None) -> ShownAnswers:
    answers = ShownAnswers(folder, describe or (lambda call: ArrivingCall(call.id, "default", CALL, "test")))
    write_watched(folder, {"default"})
    answers.look()
    return answers


def texts(folder: Path) -> list[str]:
    grown, _ = ArrivingReader(folder / ARRIVING_FOLDER).look()
    return ["".join(piece.text for piece in each.pieces if piece.kind == "text") for each in grown]


def parts(folder: Path) -> list[tuple[str, str, str]]:
    """Kind, name and text of each part of the one answer that arrives."""
    [grown], _ = ArrivingReader(folder / ARRIVING_FOLDER).look()
    made: dict[int, ArrivingPiece] = {}
    for piece in grown.pieces:
        made[piece.part] = made[piece.part].joined(piece) if piece.part in made else piece
    return [(made[part].kind, made[part].name, made[part].text) for part in sorted(made)]


def open_call(surface: str = "anthropic", answer: bytes = b"", id: str = CALL, body: Any = None) -> SpooledCall:
    """A call whose answer has not ended."""
    call = passed(surface, body or {"messages": []}, answer, id=id, headers=CLAUDE_CODE)
    call.end = None
    return call


def frames_of_call(id: str, body: Any, said: str) -> list[SpoolFrame]:
    begun = CallBegin(at=1, api="anthropic", method="POST", path="/v1/messages", headers=CLAUDE_CODE)
    _, *frames = frames_of(id, json.dumps(body).encode(), anthropic_answer(said))
    return [begin(id, begun), *frames]


def come(call: SpooledCall, more: bytes) -> SpooledCall:
    call.take(SpoolFrame(SpoolKind.RESPONSE, call.id, more))
    return call


def delta(text: str) -> bytes:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


@pytest.mark.parametrize("surface", PATHS)
def test_every_api_is_read_byte_by_byte(surface: str, tmp_path: Path) -> None:
    said = {
        "anthropic": anthropic_answer({"type": "thinking", "thinking": "Hm.", "signature": "s"}, "One two."),
        "chat": b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"One two."}}]}\n\n',
        "responses": b"data: " + json.dumps({"type": "response.output_text.delta", "item_id": "m", "output_index": 0,
                                             "content_index": 0, "delta": "One two."}).encode() + b"\n\n",
        "gemini": b'[{"candidates":[{"content":{"role":"model","parts":[{"text":"One two."}]}}]}]',
        "ollama": b'{"message":{"role":"assistant","content":"One "}}\n{"message":{"content":"two."},"done":true}\n',
    }[surface]  # fmt: skip
    answers, call = shown(tmp_path), open_call(surface)
    for at in range(len(said)):
        answers.show(come(call, said[at : at + 1]))
    assert texts(tmp_path) == ["One "], "the last word may go on"
    call.is_abandoned = True
    answers.show(call)
    assert texts(tmp_path) == ["One two."]


def chunk(**delta: Any) -> bytes:
    return (
        b"data: "
        + json.dumps({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}).encode()
        + b"\n\n"
    )


def called(index: int, arguments: str, **function: str) -> dict[str, Any]:
    return {"index": index, "type": "function", "function": {**function, "arguments": arguments}}


ARGUMENTS = {"path": "a.md", "text": 'say "yes"\nand\ttab \U0001f344'}


@pytest.mark.parametrize("surface", PATHS)
def test_reasoning_and_calls_are_parts_of_their_own_in_every_api(surface: str, tmp_path: Path) -> None:
    told = json.dumps(ARGUMENTS)
    said = {
        "anthropic": anthropic_answer({"type": "thinking", "thinking": "Hm. So.", "signature": "s"}, "One two.",
                                      {"type": "tool_use", "id": "t", "name": "Write", "input": ARGUMENTS}),
        "chat": chunk(reasoning_content="Hm. ") + chunk(reasoning_content="So.") + chunk(content="One two.")
                + chunk(tool_calls=[called(0, told[:9], name="Write")]) + chunk(tool_calls=[called(0, told[9:])]),
        "responses": events([
            {"type": "response.reasoning_summary_text.delta", "item_id": "r", "output_index": 0, "summary_index": 0,
             "delta": "Hm. So."},
            {"type": "response.output_text.delta", "item_id": "m", "output_index": 1, "content_index": 0,
             "delta": "One two."},
            {"type": "response.output_item.added", "output_index": 2,
             "item": {"type": "function_call", "id": "f", "call_id": "t", "name": "Write", "arguments": ""}},
            {"type": "response.function_call_arguments.delta", "item_id": "f", "output_index": 2, "delta": told}]),
        "gemini": json.dumps([{"candidates": [{"content": {"role": "model", "parts": [
            {"text": "Hm. So.", "thought": True}, {"text": "One two."},
            {"functionCall": {"name": "Write", "args": ARGUMENTS}}]}}]}]).encode(),
        "ollama": b"".join(json.dumps({"message": {"role": "assistant", **each}}).encode() + b"\n" for each in (
            {"content": "", "thinking": "Hm. So."}, {"content": "One two."},
            {"content": "", "tool_calls": [{"function": {"name": "Write", "arguments": ARGUMENTS}}]})),
    }[surface]  # fmt: skip
    answers, call = shown(tmp_path), open_call(surface)
    for at in range(len(said)):
        answers.show(come(call, said[at : at + 1]))
    call.is_abandoned = True
    answers.show(call)
    thought, text, (kind, name, arguments) = parts(tmp_path)
    assert thought == ("thinking", "", "Hm. So.")
    assert text == ("text", "", "One two.")
    assert (kind, name) == ("call", "Write")
    assert arguments.replace(" ", "") == '{"path":"a.md","text":"say"yes"\nand\ttab\U0001f344"}'


def test_calls_that_come_in_turns_are_told_apart_and_a_text_is_whole_before_them(tmp_path: Path) -> None:
    answers, call = shown(tmp_path), open_call("chat")
    for delta in (
        {"content": "First of all."},
        {"tool_calls": [called(0, '{"a": ', name="One"), called(1, '{"b": ', name="Two")]},
        {"tool_calls": [called(0, "1 }")]},
        {"content": "and more "},
        {"tool_calls": [called(1, "2 }")]},
    ):
        answers.show(come(call, chunk(**delta)))
    assert parts(tmp_path) == [
        ("text", "", "First of all."),
        ("call", "One", '{"a": 1 }'),
        ("call", "Two", '{"b": 2 }'),
        ("text", "", "and more "),
    ]


KEY = "sk-ant-api03-abcdefghijklmnop0123456789"


SPELLED = (
    KEY,
    f"line\\n{KEY}",
    f"\\t{KEY}",
    KEY.replace("-", "\\u002d"),
    f"\\\\{KEY}",
    r"https:\/\/me:abcdefghijklmnop0123@host",
    r"Bearer abcdefghijklmnop\/0123",
)
"""Keys as the JSON of arguments may spell them."""


@pytest.mark.parametrize("spelled", SPELLED)
def test_no_part_of_a_key_is_written_down_wherever_it_stands(spelled: str, tmp_path: Path) -> None:
    """Byte by byte, in reasoning, text and arguments, and also as the name of a tool."""
    text = json.loads(f'"{spelled}"')
    said = anthropic_answer(
        {"type": "thinking", "thinking": f"It is {text} .", "signature": "s"}, f"It is {text} .",
        {"type": "tool_use", "id": "t", "name": text, "input": {}})  # fmt: skip
    said = said.replace(b'"partial_json": "{}"', b'"partial_json": ' + json.dumps(f'{{"a": "{spelled} ."}}').encode())
    answers, call = shown(tmp_path), open_call()
    for at in range(len(said)):
        answers.show(come(call, said[at : at + 1]))
    call.is_abandoned = True
    answers.show(call)
    [path] = (tmp_path / ARRIVING_FOLDER).glob("*.jsonl")
    assert "abcd" not in path.read_text("utf-8")
    hidden = hide_shapes(text)
    assert hidden != text
    assert parts(tmp_path) == [
        ("thinking", "", f"It is {hidden} ."),
        ("text", "", f"It is {hidden} ."),
        ("call", hidden, f'{{"a": "{hidden} ."}}'),
    ]


def text_of(index: int, text: str) -> bytes:
    event = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


@pytest.mark.parametrize(
    "before", ["sk-", "sk-ant-api03-abc", "https://me:", "Bearer ", "-----BEGIN PRIVATE KEY-----\n"]
)
def test_a_key_that_another_part_interrupts_waits_for_its_rest(before: str, tmp_path: Path) -> None:
    """No provider sends a block, another, and then more of the first; what does is no reason to show a key."""
    answers, call = shown(tmp_path), open_call(answer=anthropic_answer("", "", whole=False))
    for index, text in ((0, f"Use {before}"), (1, "Then "), (0, KEY[3:] + "@host")):
        answers.show(come(call, text_of(index, text)))
    assert "abc" not in str(parts(tmp_path))
    call.is_abandoned = True
    answers.show(call)
    assert parts(tmp_path)[0][2].startswith("Use <hidden: it looked like a key>")
    assert "abc" not in str(parts(tmp_path))


def test_a_text_that_goes_on_behind_another_part_is_seen_when_it_is_stored(tmp_path: Path) -> None:
    answers, call = shown(tmp_path), open_call(answer=anthropic_answer("", "", whole=False))
    for index, text in ((0, "Use s"), (1, "Then "), (0, KEY[1:])):
        answers.show(come(call, text_of(index, text)))
    call.is_abandoned = True
    answers.show(call)
    assert parts(tmp_path) == [("text", "", "Use s"), ("text", "", "Then ")]


def test_an_answer_of_parts_without_end_takes_a_bounded_file_and_memory(tmp_path: Path) -> None:
    answers, call = shown(tmp_path), open_call("chat")
    for index in range(PARTS_LIMIT + 20):
        answers.show(come(call, chunk(tool_calls=[called(index, "{} ", name="Tool")])))
    assert len(parts(tmp_path)) == PARTS_LIMIT
    many = open_call("chat", id="9" * 25)
    for index in range(40):  # what waits is counted for all parts together
        answers.show(come(many, chunk(tool_calls=[called(index, '{"' + "a" * 1000, name="Tool")])))
    answers.show(come(many, chunk(tool_calls=[called(40, "{} ", name="Late")])))
    [path] = (tmp_path / ARRIVING_FOLDER).glob("999*.jsonl")
    assert "Late" not in path.read_text("utf-8")


def test_a_model_that_looks_like_a_key_is_told_and_stored_as_a_hidden_one(store: Store) -> None:
    body = {**anthropic_body([user("Hi")]), "model": "ghp_abcdefghijklmnopqrst0123"}
    recorder = CallRecorder(lambda _space: store)
    told = recorder.describe(open_call(body=body))
    assert told is not None
    assert told.model == "<hidden: it looked like a key>"
    recorder.record(passed("anthropic", body, status=529, headers=CLAUDE_CODE))
    [call] = store.calls.list()
    assert call.facts.model == "<hidden: it looked like a key>"


def test_a_request_tells_which_turn_its_answer_continues(store: Store, tmp_path: Path) -> None:
    for known in (True, False):
        messages = [user(f"Hi {known}")]
        recorder = CallRecorder(lambda _space: store)
        first = passed("anthropic", anthropic_body(messages), anthropic_answer("Hello"), headers=CLAUDE_CODE)
        asked = open_call(body=anthropic_body(messages), id="2" * 25)
        begins = recorder.describe(asked)
        assert begins is not None
        assert (begins.continues, begins.question) == (None, f"Hi {known}"), "nothing of it is stored"
        recorded = recorder.record(first)
        assert recorded is not None
        if not known:
            recorder = CallRecorder(lambda _space: store)
        before = store.stats()
        messages += [assistant("Hello"), user("Is ghp_abcdefghijklmnopqrst0123 a key?")]
        told = recorder.describe(open_call(body=anthropic_body(messages), id="2" * 25))
        assert told is not None
        assert told.continues == recorded.call.answer
        assert told.question == "Is <hidden: it looked like a key> a key?"
        assert (told.client, told.model, told.space) == ("claude-code", "claude-x", "default")
        results = [
            *messages[:2],
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "1"}]},
        ]
        told = recorder.describe(open_call(body=anthropic_body(results), id="3" * 25))
        assert told is None or told.question == ""
        assert store.stats() == before, "nothing is stored by asking"


def test_what_lists_of_conversations_fold_is_not_shown_as_one_that_begins(store: Store) -> None:
    """As the words that a tool has a model make a title of."""
    body = anthropic_body([user("Make a title of this.")])
    recorder = CallRecorder(lambda _space: store)
    assert recorder.describe(open_call(body=body)) is not None
    assert recorder.describe(open_call(body={**body, "tools": []})) is None
    assert recorder.describe(open_call(body={**body, "messages": []})) is None


def test_an_answer_of_responses_continues_the_one_that_it_names(store: Store) -> None:
    recorder = CallRecorder(lambda _space: store)
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Hello", "annotations": []}]}  # fmt: skip
    recorded = recorder.record(passed("responses", {"model": "m", "input": "Hi"}, responses_answer(item)))
    assert recorded is not None
    told = recorder.describe(
        open_call("responses", body={"model": "m", "input": "and", "previous_response_id": "resp_1"})
    )
    assert told is not None
    assert (told.continues, told.question) == (recorded.call.answer, "and")


def test_halves_of_characters_come_together_and_a_lone_one_harms_nothing(tmp_path: Path) -> None:
    answers, call = shown(tmp_path), open_call(answer=anthropic_answer("", whole=False))
    for half in ("It is \ud83d", "\ude00, yes ", "\ud83d"):
        answers.show(come(call, delta(half)))
    assert texts(tmp_path) == ["It is \U0001f600, yes "]
    call.is_abandoned = True
    answers.show(call)
    assert texts(tmp_path) == ["It is \U0001f600, yes "]


def test_a_file_that_goes_away_in_a_look_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = shown(tmp_path)
    for number in range(3):
        answers.show(open_call(answer=anthropic_answer("Yes."), id=f"{number:025}"))
    reader, scan = ArrivingReader(tmp_path / ARRIVING_FOLDER), os.scandir
    assert len(reader.look()[0]) == 3

    @contextmanager
    def one_goes(folder: Path) -> Iterator[Any]:
        with scan(folder) as entries:
            listed = list(entries)
            (folder / f"{1:025}.jsonl").unlink()
            yield listed

    monkeypatch.setattr(arriving.os, "scandir", one_goes)
    assert reader.look() == ([], [f"{1:025}"])

    def fails(_folder: Path) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(arriving.os, "scandir", fails)
    assert reader.look() == ([], []), "what is not known is not gone"


def test_an_answer_without_end_takes_a_bounded_file(tmp_path: Path) -> None:
    answers, call = shown(tmp_path), open_call(answer=anthropic_answer("", whole=False))
    piece = json.dumps(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word " * 2000}}
    )
    for _ in range(60):
        answers.show(come(call, f"data: {piece}\n\n".encode()))
    [path] = (tmp_path / ARRIVING_FOLDER).glob("*.jsonl")
    assert ANSWER_BYTES // 2 < path.stat().st_size <= ANSWER_BYTES
    assert texts(tmp_path)[0].startswith("word word")


def test_only_so_many_answers_are_written_down(tmp_path: Path) -> None:
    answers = shown(tmp_path)
    for number in range(ANSWERS_LIMIT + 20):
        answers.show(open_call(answer=anthropic_answer("Yes."), id=f"{number:025}"))
    assert len(texts(tmp_path)) == ANSWERS_LIMIT


def test_answers_that_are_not_shown_or_have_ended_take_no_place(tmp_path: Path) -> None:
    """As those of a space that takes no calls, which wait for hours."""
    answers = shown(tmp_path, lambda call: None if call.id < "1" else ArrivingCall(call.id, "default", CALL, "test"))
    for number in range(ANSWERS_LIMIT):
        answers.show(open_call(answer=anthropic_answer("Yes."), id=f"{number:025}"))
    for number in range(ANSWERS_LIMIT):
        call = open_call(answer=anthropic_answer("Said."), id=f"1{number:024}")
        answers.show(call)
        call.is_abandoned = True
        answers.show(call)
    assert len(texts(tmp_path)) == ANSWERS_LIMIT
    assert open_files(tmp_path) == []
    for number in range(ANSWERS_LIMIT + 20):
        answers.show(open_call(answer=anthropic_answer("Yes "), id=f"2{number:024}"))
    assert texts(tmp_path) == ["Yes "] * ANSWERS_LIMIT, "one that has ended makes room, one that goes on does not"
    answers.keep(())
    assert texts(tmp_path) == []
    assert open_files(tmp_path) == []


def test_refusals_unknown_paths_and_unsent_requests_are_not_shown(tmp_path: Path) -> None:
    answers = shown(tmp_path)
    refused = open_call(answer=b'{"error":{"message":"no"}}')
    refused.head = refused.head and type(refused.head)(status=429, at=0)
    unsent = open_call(answer=anthropic_answer("Yes."), id="4" * 25)
    unsent.is_sent = False
    for call in (refused, unsent):
        answers.show(call)
    assert texts(tmp_path) == []


@pytest.mark.parametrize("failing", ["open", "write"])
def test_a_full_disk_ends_the_showing_and_nothing_else(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, call = shown(tmp_path), open_call(answer=anthropic_answer("One ", whole=False))

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    if failing == "write":
        answers.show(call)
    monkeypatch.setattr(arriving.os, failing, full)
    for _ in range(2):
        answers.show(come(call, anthropic_answer("two ", whole=False)))
    monkeypatch.undo()
    assert list((tmp_path / ARRIVING_FOLDER).glob("*.jsonl")) == []
    answers.show(come(call, b"data: {}\n\n"))
    assert texts(tmp_path) == [], "it is not begun again in the middle"


def test_what_is_no_answer_and_what_cannot_be_described_is_not_shown(tmp_path: Path) -> None:
    def describe(_: SpooledCall) -> ArrivingCall | None:
        raise ValueError("a request that nobody foresaw")

    answers = shown(tmp_path, describe)
    answers.show(open_call(answer=anthropic_answer("Yes.")))
    assert texts(tmp_path) == []
    answers = shown(tmp_path)
    answers.show(open_call(answer=b"<html>" * 100))
    assert texts(tmp_path) == []


def test_it_goes_when_the_call_is_stored_and_when_nobody_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = shown(tmp_path)
    for id in ("5" * 25, "6" * 25):
        answers.show(open_call(answer=anthropic_answer("Yes."), id=id))
    answers.look()
    assert len(texts(tmp_path)) == 2, "its last words are read first"
    answers.keep({"6" * 25})
    assert len(texts(tmp_path)) == 1
    os.utime(tmp_path / ARRIVING_FOLDER / "watched.json", (1, 1))
    answers.look()
    assert texts(tmp_path) == []


def test_what_has_ended_is_not_begun_after_a_restart(tmp_path: Path) -> None:
    answers, call = shown(tmp_path), open_call(answer=anthropic_answer("Said long ago."))
    call.is_abandoned = True
    answers.show(call)
    assert texts(tmp_path) == []


def test_what_a_killed_recorder_left_goes_with_its_call(tmp_path: Path) -> None:
    before = shown(tmp_path)
    for id in ("7" * 25, "8" * 25):
        before.show(open_call(answer=anthropic_answer("Yes."), id=id))
    answers = shown(tmp_path)
    answers.keep({"7" * 25})
    [path] = (tmp_path / ARRIVING_FOLDER).glob("*.jsonl")
    assert path.name.startswith("777")
    answers.keep(())
    assert texts(tmp_path) == []


def test_an_answer_goes_a_look_after_it_is_stored_and_at_once_if_it_cannot_be_read(
    store: Store, tmp_path: Path
) -> None:
    writer, follower = (
        SpoolWriter(tmp_path / "spool"),
        SpoolFollower(CallRecorder(lambda _space: store), tmp_path, lambda _line: None),
    )
    write_watched(tmp_path, {"default"})
    body = anthropic_body([user("Hi")])
    writer.write(frames_of_call("0" * 25, body, "Hello"))
    follower.look()
    body["messages"] += [assistant("Hello"), user("And?")]
    calls = {id: frames_of_call(id, body, "More ") for id in ("1" * 25, "2" * 25)}
    for frames in calls.values():
        writer.write(frames[:-1])
    follower.look()
    assert texts(tmp_path) == ["More ", "More "]
    stored, odd = (frames[-1] for frames in calls.values())
    writer.write([odd._replace(body=b"\xff")])
    follower.look()
    assert texts(tmp_path) == ["More "]
    writer.write([stored])
    follower.look()
    assert texts(tmp_path) == ["More "], "its last words are read first"
    follower.look()
    assert texts(tmp_path) == []


@pytest.mark.parametrize("said", [b'["\xff"]', b"[1]", b"[" * 9000])
def test_who_watches_may_be_said_in_no_words(said: bytes, tmp_path: Path) -> None:
    write_watched(tmp_path, {"default"})
    assert read_watched(tmp_path) == {"default"}
    (tmp_path / ARRIVING_FOLDER / "watched.json").write_bytes(said)
    assert read_watched(tmp_path) == frozenset()


@pytest.mark.parametrize("line", [b'"\xff"\n', b"[1]\n"])
def test_a_file_that_is_no_text_keeps_no_other_from_being_read(line: bytes, tmp_path: Path) -> None:
    answers = shown(tmp_path)
    for id in ("7" * 25, "8" * 25):
        answers.show(open_call(answer=anthropic_answer("Yes "), id=id))
    with (tmp_path / ARRIVING_FOLDER / f"{'7' * 25}.jsonl").open("ab") as file:
        file.write(line)
    assert texts(tmp_path) == ["Yes "]


def test_a_file_that_is_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    reader, read = ArrivingReader(tmp_path / ARRIVING_FOLDER), ""
    for pieces in (["One ", "two ", "three "], ["One two ", "three four "], ["One ", "two three ", "four five "]):
        answers, call = shown(tmp_path), open_call(answer=anthropic_answer("", whole=False))
        for piece in pieces:
            answers.show(come(call, delta(piece)))
        for grown in [each for _ in range(3) for each in reader.look()[0]]:
            read = ("" if grown.is_anew else read) + "".join(piece.text for piece in grown.pieces)
        assert read == "".join(pieces)
