"""What a model says aloud: a recording and its words, kept, read, found, and sent back by its id while that holds."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from headish import Store
from headish.errors import Unmappable
from headish.providers import Stream, parse_response
from headish.values.blocks import Base64Source, Document, ProviderBlock, Text

SOUND = b64encode(b"RIFF....WAVEfmt ").decode()
AUDIO = {"id": "audio_1", "expires_at": 1_795_222_800, "data": SOUND, "transcript": "Hello aloud."}
FAR, PAST = 9_999_999_999, 1_000
USER = {"role": "user", "content": "Say hello"}
PCM = "audio/L16;codec=pcm;rate=24000"


def completion(audio: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "audio": audio}
    return {"object": "chat.completion", "id": "r", "choices": [{"finish_reason": "stop", "message": message}]}


def of_gemini(*parts: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}]}


def inline(data: bytes, kind: str = PCM) -> dict[str, Any]:
    return {"inlineData": {"mimeType": kind, "data": b64encode(data).decode()}}


def asked(store: Store, provider: str, audio: dict[str, Any]) -> Any:
    store.add_turn("Say hello", bookmark="main", force=True)
    store.reply("main", "openai", completion(audio))
    store.add_turn("Again", continues="main")
    return store.request("main", provider)


class TestChat:
    def test_the_words_are_the_answers_text_and_the_sound_stands_beside_them(self) -> None:
        words, sound = parse_response("openai", completion(AUDIO)).content
        assert isinstance(words, Text)
        assert isinstance(sound, Document)
        assert (words.text, sound.source) == ("Hello aloud.", Base64Source("audio/wav", SOUND))
        assert sound.opaque == {"openai": {"audio": {"id": "audio_1", "expires_at": 1_795_222_800}}}

    def test_pieces_of_a_stream_have_ends_of_their_own(self) -> None:
        stream = Stream("openai")
        pieces = [{"id": "a", "transcript": ""}, {"transcript": "Hel"}, {"data": b64encode(b"RIFF.").decode()},
                  {"transcript": "lo"}, {"data": b64encode(b"..").decode()}, {"expires_at": 7}]  # fmt: skip
        events = [{"choices": [{"index": 0, "delta": {"audio": piece}}]} for piece in pieces]
        shown = [delta for event in events for delta in stream.feed(event)]
        assert [delta.content for delta in shown] == ["Hel", "lo"]
        words, sound = stream.finish().content
        assert isinstance(sound, Document)
        assert sound.source == Base64Source("audio/wav", b64encode(b"RIFF...").decode())
        assert isinstance(words, Text)
        assert words.text == "Hello"

    @pytest.mark.parametrize("odd", [{"id": "a"}, {"id": "a", "data": "no base64!"}, {"id": "a", "data": 7}])
    def test_what_is_no_recording_is_kept_as_it_is(self, odd: dict[str, Any]) -> None:
        assert parse_response("openai", completion(odd)).content == (
            ProviderBlock("openai", {"message": {"audio": odd}}),
        )

    def test_a_client_that_sends_it_again_is_known(self, store: Store) -> None:
        store.add_turn("Say hello", bookmark="main")
        store.reply("main", "openai", completion(AUDIO))
        given = [USER, {"role": "assistant", "content": None, "audio": AUDIO}]
        assert store.record(given, bookmark="main", form="chat").added == 0
        store.record(given, bookmark="other", form="chat")
        assert store.messages("other", form="chat") == given

    def test_people_read_and_find_the_words(self, store: Store) -> None:
        store.add_turn("Say hello", bookmark="main")
        turn = store.reply("main", "openai", completion(AUDIO))
        assert turn.text == "Hello aloud."
        assert [hit.turn.id for hit in store.search("aloud")] == [turn.id]

    @pytest.mark.parametrize("form", ["anthropic", "responses", "gemini", "cohere"])
    def test_no_other_form_takes_the_sound(self, store: Store, form: str) -> None:
        asked(store, "openai", AUDIO)
        with pytest.raises(Unmappable, match="the sound of an answer"):
            store.messages("main", form=form)
        written = json.dumps(store.messages("main", form=form, drop=["document"]))
        assert "Hello aloud." in written
        assert SOUND not in written


class TestWhatGoesBack:
    def test_the_id_alone_while_it_holds(self, store: Store) -> None:
        body = asked(store, "openai", {**AUDIO, "expires_at": FAR}).body
        assert body["messages"][1] == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}

    def test_the_words_when_it_has_run_out(self, store: Store) -> None:
        request = asked(store, "openai", {**AUDIO, "expires_at": PAST})
        assert request.body["messages"][1] == {"role": "assistant", "content": "Hello aloud."}
        assert "the sound of an answer is left out" in [note.what for note in request.notes]

    @pytest.mark.parametrize("provider", ["anthropic", "openai_responses", "gemini", "cohere", "cerebras"])
    def test_others_get_the_words(self, store: Store, provider: str) -> None:
        request = asked(store, provider, {**AUDIO, "expires_at": FAR})
        assert "Hello aloud." in json.dumps(request.body)
        assert SOUND not in json.dumps(request.body)
        assert "the sound of an answer is left out" in [note.what for note in request.notes]

    def test_what_was_edited_is_sent_as_it_is_now(self, store: Store) -> None:
        asked(store, "openai", {**AUDIO, "expires_at": FAR})
        store.edit("main~1", "Goodbye.", keep=True)
        body = store.request("main", "openai").body
        assert body["messages"][1] == {"role": "assistant", "content": "Goodbye."}

    def test_a_server_of_a_dialect_has_made_no_such_id(self, store: Store) -> None:
        asked(store, "openai", {**AUDIO, "expires_at": FAR})
        body = store.request("main", "openai", dialect="groq").body
        assert body["messages"][1] == {"role": "assistant", "content": "Hello aloud."}


class TestGemini:
    def test_pieces_of_raw_samples_are_one_recording(self) -> None:
        stream = Stream("gemini")
        for data in (b"abcd", b"ef"):
            stream.feed({"candidates": [{"content": {"parts": [inline(data)]}}]})
        [streamed] = stream.finish().content
        [sound] = parse_response("gemini", of_gemini(inline(b"abcd"), inline(b"ef"))).content
        assert streamed == sound == Document(Base64Source(PCM, b64encode(b"abcdef").decode()))

    def test_it_goes_back_as_it_came_and_is_left_out_for_others(self, store: Store) -> None:
        store.record([{"role": "user", "parts": [{"text": "Sing"}]}], bookmark="main", form="gemini")
        store.reply("main", "gemini", of_gemini(inline(b"abc")))
        store.add_turn("Again", continues="main")
        assert store.request("main", "gemini").body["contents"][1] == {"role": "model", "parts": [inline(b"abc")]}
        notes = [note.what for note in store.request("main", "openai").notes]
        assert "the sound of an answer is left out" in notes

    def test_a_client_that_sends_it_again_is_known(self, store: Store) -> None:
        given = [{"role": "user", "parts": [{"text": "Sing"}]}, {"role": "model", "parts": [inline(b"abc")]}]
        store.record(given[:1], bookmark="main", form="gemini")
        store.reply("main", "gemini", of_gemini(inline(b"abc")))
        assert store.record(given, bookmark="main", form="gemini").added == 0
        assert store.messages("main", form="gemini") == given

    def test_what_is_no_base64_stays_the_providers(self) -> None:
        odd = {"inlineData": {"mimeType": PCM, "data": "no base64!"}}
        assert parse_response("gemini", of_gemini(odd)).content == (ProviderBlock("gemini", odd),)
