"""What a chat server says beside what is known goes back to it as it came: parts, keys of the message and of its calls.

Each is a case folder of ``openai``: what its stream and its whole response become is checked there.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from headish.providers import Reply, Stream, parse_response, prepare_request
from support.providers.replies import CASES, read_lines


def case(name: str) -> tuple[dict[str, Any], Reply]:
    """The message that a server said, and the reply that it became."""
    response = json.loads((CASES / "openai" / name / "response.json").read_text())
    message: dict[str, Any] = response["choices"][0]["message"]
    return message, parse_response("openai", response)


def sent_back(reply: Reply, provider: str = "openai") -> tuple[dict[str, Any], list[str]]:
    """The assistant's message of the next request, and the notes."""
    user = {"role": "user", "content": "And?"}
    window = {"messages": [user, {"role": "assistant", "content": list(reply.content)}, user]}
    request = prepare_request(provider, window)
    said = [message for message in request.body["messages"] if message["role"] == "assistant"]
    return (said[0] if said else {}), [note.what for note in request.notes]


@pytest.mark.parametrize("name", ["openrouter-reasoning-details", "mistral-reasoning", "custom-call"])
def test_the_message_goes_back_as_it_came(name: str) -> None:
    message, reply = case(name)
    found, _ = sent_back(reply)
    expected = {key: value for key, value in message.items() if key != "reasoning"}
    for call in expected.get("tool_calls", ()):
        call.pop("index", None)
    assert found == {"content": None, **expected}


@pytest.mark.parametrize("name", ["openrouter-reasoning-details", "mistral-reasoning"])
def test_a_stream_goes_back_as_the_whole_response_does(name: str) -> None:
    stream = Stream("openai")
    for event in read_lines(CASES / "openai" / name / "events.jsonl"):
        stream.feed(event)
    assert sent_back(stream.finish()) == sent_back(case(name)[1])


def test_a_thought_signature_of_gemini_goes_back_on_its_call() -> None:
    message, reply = case("gemini-thought-signature")
    found, notes = sent_back(reply)
    assert found["tool_calls"] == message["tool_calls"]
    assert not [note for note in notes if "openai" in note]


def test_parts_of_content_stay_parts() -> None:
    message, reply = case("content-parts")
    found, _ = sent_back(reply)
    assert found["content"] == [
        message["content"][0],
        message["content"][1],
        {"type": "text", "text": "Three."},
        message["content"][3],
        {"type": "text", "text": "No."},
    ]


def test_of_audio_the_id_goes_back_which_is_all_that_the_api_takes() -> None:
    _, reply = case("audio")
    assert sent_back(reply)[0] == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}


def test_a_call_of_a_type_that_nobody_knows_is_kept_and_said_to_be_left_out() -> None:
    """The API wants a result for each call, and no result of the thread can name this one."""
    found, notes = sent_back(case("unknown-call")[1])
    assert found == {"role": "assistant", "content": "Hi"}
    assert "a call of type 'builtin', which no result can answer, is left out" in notes


def test_a_key_of_the_message_never_takes_the_place_of_what_the_thread_says() -> None:
    data = {"message": {"role": "system", "content": "x", "tool_calls": [], "aura": 1, "executed_tools": [1]}}
    reply = Reply(provider="openai", content=(*case("unknown-call")[1].content,))
    window = [*reply.content, {"type": "provider", "provider": "openai", "data": data}]
    user = {"role": "user", "content": "And?"}
    request = prepare_request("openai", {"messages": [user, {"role": "assistant", "content": window}, user]})
    assert request.body["messages"][1] == {"role": "assistant", "content": "Hi", "aura": 1}
    assert "what the message says as role, content, tool_calls, executed_tools is left out" in [
        note.what for note in request.notes
    ]


@pytest.mark.parametrize("provider", ["anthropic", "cohere", "cerebras"])
def test_nothing_of_it_goes_to_another_provider(provider: str) -> None:
    for name in ("openrouter-reasoning-details", "mistral-reasoning", "gemini-thought-signature"):
        found, _ = sent_back(case(name)[1], provider)
        said = json.dumps(found)
        assert "reasoning_details" not in said
        assert "reference" not in said
        assert "extra_content" not in said


def test_a_message_that_was_cut_off_does_not_go_back_in_parts() -> None:
    stream = Stream("openai")
    for event in read_lines(CASES / "openai" / "openrouter-reasoning-details" / "events.jsonl")[:5]:
        stream.feed(event)
    found, notes = sent_back(stream.finish())
    assert "reasoning_details" not in found
    assert "a block of openai that was cut off is left out" in notes
