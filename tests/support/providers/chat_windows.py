"""Windows for the chat APIs: a broad set by hand, and random ones that hold what a provider itself made.

Used by the suites chat_requests and chat_replies, and by the tests of the three providers.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from headish import ContextWindow, Message
from headish.values.blocks import Text, Thinking
from support.providers.emitted import calls, documents, foreign, messages, results, texts

PNG = "iVBORw0KGgo="
WEATHER = {"name": "weather", "description": "The weather.", "inputSchema": {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "properties": {"city": {"type": "string", "format": "city"}, "format": {"type": "string"}}}}  # fmt: skip
CLOCK = {"name": "functions.clock", "outputSchema": {"type": "object"}}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def document(media_type: str, data: str = PNG, **more: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}, **more}


def call(id: str | None, name: str = "weather", input: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": input or {}} | ({} if id is None else {"id": id})


def result(id: str | None, *content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "content": list(content)} | ({} if id is None else {"tool_use_id": id}) | more


def thought(said: str, provider: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "text": said, "provider": provider, **more}


def say(role: str, *content: Any, **more: Any) -> dict[str, Any]:
    """A message of a window's JSON."""
    return {"role": role, "content": [text(each) if isinstance(each, str) else each for each in content], **more}


def exchange(*content: Any, results: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    """A question, the answer given, its results if it calls, and what is said next."""
    tool = [say("tool", *results)] if results else []
    return [say("user", "Weather?"), say("assistant", *content), *tool, say("user", "Go on.")]


CSV = document("text/csv", "YSxiCg==", name="a.csv")
JSON_FILE = document("application/json", "e30=")
IMAGE = document("image/png")

SHARED_WINDOWS: dict[str, list[dict[str, Any]]] = {
    "plain": [say("user", "Hi")],
    "conversation": exchange("Sun."),
    "instructions everywhere": [say("system", "Be brief.", "Be kind."), say("user", "Hi"), say("developer", "Shout."),
                                say("assistant", "HI"), say("system", "Whisper."), say("user", "Hi?")],
    "system alone": [say("system", "Be brief.")],
    "parts of a user": [say("user", "a", IMAGE, "b"), say("user", "c", "d"), say("user", document("image/jpeg"))],
    "text documents": [say("user", CSV, JSON_FILE), say("system", CSV), say("assistant", JSON_FILE), say("user", "?")],
    "blank texts": [say("user", "", "a"), say("assistant", " "), say("system", "\n"), say("user", "b", "")],
    "one call": exchange(call("c1", input={"city": "Bern"}), results=(result("c1", "Sun."),)),
    "parallel calls": exchange("Two:", call("c1"), call("c2", "functions.clock"),
                               results=(result("c2", "Noon."), result("c1", "Sun."))),
    "text behind a call": exchange("Before.", call("c1"), "Behind.", results=(result("c1", "Sun."),)),
    "several texts": exchange("One.", "Two."),
    "results of all kinds": exchange(
        call("c1"), call("c2"), call("c3"), call("c4"),
        results=(result("c1", "a", "b"), result("c2"), result("c3", "no", is_error=True), result("c4", is_error=True))),
    "images in results": exchange(call("c1"), call("c2"), results=(result("c1", IMAGE, "text", CSV),
                                                                   result("c2", document("image/jpeg")))),
    "images in results twice": [*exchange(call("c1"), results=(result("c1", IMAGE),)),
                                *exchange(call("c2"), results=(result("c2", IMAGE),))],
    "text beside results": [say("user", "?"), say("assistant", call("c1")), say("user", result("c1", "x"), "And?")],
    "an open call": [say("user", "?"), say("assistant", call("c1"))],
    "an orphan": [say("user", "?"), say("tool", result("c9", "Sun.", IMAGE)), say("user", "?")],
    "missing ids": exchange(call(None), call("a b"), results=(result(None, "one"), result("a b", "two"))),
    "strange names": exchange(call("c1", "a.b"), call("c2", "x" * 70), results=(result("c1"), result("c2"))),
    "strange arguments": exchange(
        {"type": "tool_use", "id": "c1", "name": "weather", "raw": '{"city": '},
        {"type": "tool_use", "id": "c2", "name": "weather", "raw": '{ "city":1 }'},
        {"type": "tool_use", "id": "c3", "name": "weather", "input": [1]}),
    "others' reasoning": exchange(thought("Hm.", "anthropic", signature="x"), thought("Hm?", None), "Sun."),
    "others' blocks": exchange({"type": "provider", "provider": "gemini", "data": {}}, "Sun."),
    "reasoning alone": [say("user", "?"), say("assistant", thought("Hm.", "anthropic")), say("user", "?")],
    "the last is the assistant's": [say("user", "?"), say("assistant", "It is")],
    "flags": [say("system", "s", cache=True), *[say("user", str(n), cache=True) for n in range(5)],
              say("assistant", "a", cache=True), say("user", IMAGE, cache=True)],
    "a document of a tool": [say("user", "?"), say("tool", CSV), say("user", "?")],
}  # fmt: skip
"""Messages that all three APIs take in some form."""
MODES = (None, "auto", "any", "none", "weather", "functions.clock")


def own_reasoning(provider: str) -> dict[str, list[dict[str, Any]]]:
    """Windows with what the provider itself keeps in a thread."""
    citation = {"start": 0, "end": 3, "text": "Sun", "sources": [], "content_index": 7, "type": "TEXT_CONTENT"}
    cited = {"opaque": {provider: {"citations": [citation], "annotations": [{"type": "url_citation"}]}}}
    plan = {"opaque": {provider: {"tool_plan": True}}}
    answered = (result("c1", "Sun."),)
    return {
        "own reasoning": exchange(thought("Hm.", provider), thought("So.", provider), "Sun."),
        "own reasoning behind text": exchange("Sun.", thought("Hm.", provider), "Rain."),
        "own reasoning and a call": exchange(thought("Hm.", provider), call("c1"), results=answered),
        "own reasoning, text and a call": exchange(thought("Hm.", provider), "Look:", call("c1"), results=answered),
        "own reasoning alone": exchange(thought("Hm.", provider)),
        "blank reasoning": exchange(thought(" ", provider), "Sun."),
        "a plan": exchange(thought("I look.", provider, **plan), call("c1"), results=answered),
        "a plan and text": exchange(thought("I look.", provider, **plan), "Look:", call("c1"), results=answered),
        "a plan without its call": exchange(thought("I look.", provider, **plan), "Sun."),
        "a plan alone": exchange(thought("I look.", provider, **plan)),
        "citations": exchange(thought("Hm.", provider), text("Sun.", **cited), text("Rain.", **cited)),
        "citations of a user": [say("user", text("Sun.", **cited), text("Rain.", **cited))],
        "citations and a call": exchange(text("Sun.", **cited), call("c1"), results=answered),
        "own blocks": exchange({"type": "provider", "provider": provider, "data": {}}, "Sun."),
    }


def own_windows(provider: str) -> st.SearchStrategy[ContextWindow]:
    """Random windows of usual blocks and of what the provider made."""
    kept: st.SearchStrategy[Any] = st.sampled_from(
        [{}, {"tool_plan": True}, {"citations": [{"start": 0}, 1]}, {"citations": 1}, "x"]
    )
    opaque = st.builds(lambda value: {provider: value}, kept)
    thoughts = st.builds(Thinking, texts, st.none(), st.none(), st.just(provider), opaque)
    said = st.builds(lambda said, beside: Text(said, opaque=beside), texts, opaque)
    block = said | thoughts | calls | results | documents | foreign
    role = st.sampled_from(["assistant", "user", "tool", "system"])
    own = st.builds(Message, role=role, content=st.lists(block, max_size=5).map(tuple), cache=st.booleans())
    thinking = st.builds(Message, role=st.just("assistant"), content=st.lists(said | thoughts | calls).map(tuple))
    listed = st.lists(own | thinking | messages(odd_too=False), max_size=6).map(tuple)
    return st.builds(ContextWindow, listed, st.just({}))
