"""A small history that calls every verb of the API once: the examples of its document.

``python -m support.api_examples`` in ``tests`` (`make examples`) writes store/headish/serve/api/examples.json.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2 as httpx

from headish import Store
from headish.serve.api.openapi import FILE
from headish.serve.api.table import VERBS, BodyForm
from headish.serve.recorder.recording import CallRecorder
from support.loopback import Loopback, event_stream
from support.passed import CLAUDE_CODE, anthropic_answer, passed
from support.serving import serving

API = "/api/v1"
TABLE = {verb.name: verb for verb in VERBS}
PLACE = Path(__file__).parents[2] / "store" / "headish" / "serve" / "api" / FILE
CALL = {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {"place": "Paris"}}
REPLY = {"id": "r1", "model": "m", "choices": [{"index": 0, "finish_reason": "stop",
         "message": {"role": "assistant", "content": "Madrid"}}],
         "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}  # fmt: skip
PRICES = {"currency": "USD", "price": [{"model": "m", "input": "1.5", "output": "4"}]}


class Shown:
    """Calls verbs, and keeps the first call of each with what came back."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.examples: dict[str, dict[str, Any]] = {}

    def __call__(self, called: str, body: bytes | None = None, /, **arguments: Any) -> Any:
        verb = TABLE[called]
        in_query = verb.method == "GET" or verb.form is BodyForm.BODY
        sent: dict[str, Any] = {"params": arguments, "content": body} if in_query else {"json": arguments}
        answer = self.client.request(verb.method, f"{API}{verb.path}", **sent)
        assert answer.status_code == 200, (called, answer.text)
        shown: dict[str, Any] = {"query" if in_query else "request": arguments}
        if answer.headers["content-type"] == "application/json":
            shown["answer"] = answer.json()
        elif verb.form is BodyForm.EVENTS:
            shown["events"] = answer.text
        self.examples.setdefault(called, shown)
        return shown.get("answer")


def show(shown: Shown, store: Store) -> None:
    """Call all of them. ``store`` is the served one, for what a server's owner does beside it."""
    write(shown, store)
    read(shown)
    change(shown)


def write(shown: Shown, store: Store) -> None:
    question = shown("add_turn", content="What is the capital of Spain?", bookmark="main", key="chat:1")
    shown("reply", headish="main", provider="openai", response=REPLY)
    shown("add_turns", items=["Where is it?", {"content": [CALL], "role": "assistant"}])
    shown("add_document", b"a,b\n1,2\n", name="table.csv", bookmark="table")
    shown("record", messages=[{"role": "user", "content": "Hello"}], bookmark="other")
    shown("import_file", json.dumps({"messages": [{"role": "user", "content": "Hi"}]}).encode())
    shown("edit", headish=question["id"], content="What is the capital of Portugal?")
    shown("tools.set", server="maps", tools=[{"name": "look_up", "inputSchema": {"type": "object"}}])
    shown("objects.put", kind="note", key="a", data="aGVsbG8=")
    shown("conversations.set", subject="main", title="Capitals", tags=["geography"], key="chat")
    body = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    call = passed("anthropic", body, anthropic_answer("Hello"), headers=CLAUDE_CODE, id="call-1")
    CallRecorder(lambda space: store).record(call)


def read(shown: Shown) -> None:
    tip = shown("get", headish="main")["id"]
    for name in ("payload", "blocks", "text", "siblings", "children"):
        shown(name, headish="main")
    for name in ("log", "messages", "thread", "tree", "stretch", "resolve", "options", "tokens", "usage"):
        shown(name, headish="main")
    shown("render", headish="main", format="markdown")
    shown("export", headish="main", format="chat")
    shown("find", key="chat:1")
    for name in ("contents", "abbreviate", "versions", "signatures", "bookmarks.at"):
        shown(name, ids=[tip])
    for name in ("heads", "turns", "audit"):
        shown(name, limit=2)
    shown("search", query="capital")
    shown("diff", first="main", second="other")
    shown(
        "open_calls",
        headish=next(each["id"] for each in shown("heads", limit=9) if each["meta"]["role"] == "assistant"),
    )
    for name in ("stats", "verify", "position", "bookmarks.list", "conversations.list", "pointers.list",
                 "pointers.default", "streams.list", "streams.count", "tools.list", "calls.list"):  # fmt: skip
        shown(name)
    shown("lint", headish="main", to="anthropic")
    shown("request", headish="main", to="anthropic", model="claude-x")
    shown("cost", headish="main", prices=PRICES)
    for name in ("bookmarks.history", "pointers.history"):
        shown(name, name="main" if name[0] == "b" else "local")
    shown("conversations.get", subject="main")
    shown("conversations.find", key="chat")
    shown("conversations.parts", key="chat")
    shown("objects.get", kind="note", key="a")
    shown("objects.list", kind="note")
    call = shown("calls.list")[0]["id"]
    shown("calls.spooled")
    shown("calls.get", id=call)
    shown("calls.body", id=call)


def change(shown: Shown) -> None:
    shown("bookmarks.set", name="draft", headish="main")
    shown("bookmarks.rename", old="draft", new="plan")
    for text in ("One.", "Two.", "Three.", "Four."):
        shown("add_turn", content=text, continues="plan")
    shown("hide", first="plan~3", continues="plan")
    shown("unhide", first="plan~4", continues="plan")
    shown("keep", first="plan~4", continues="plan")
    shown("replace", headish="plan~4", content="2.", continues="plan")
    shown("original", first="plan~5", continues="plan")
    shown("summarize", first="plan~7", last="plan~6", content="One and two.", continues="plan")
    shown("ask", content="And of France?", continues="main", ptr="local")
    shown("retry", headish="main")
    shown("ask_title", headish="main", ptr="local")
    shown("compact", headish="other", to=2000)
    shown("bookmarks.undo", name="plan")
    shown("bookmarks.remove", name="plan")
    shown("reindex")
    shown("streams.recover")
    gone = shown("add_turn", content="My number is 555-0100.", bookmark="gone")
    shown("erase", headish=[gone["id"]], reason="asked to")
    shown("bookmarks.erase", name="gone", reason="asked to")
    for name in ("erasures.list", "erasures.count", "erasures.is_scrubbed"):
        shown(name)
    shown("follow", wait="false", kinds="erasure")
    shown("tools.remove", server="maps")
    shown("objects.remove", kind="note", key="a")


def collect(folder: Path) -> dict[str, dict[str, Any]]:
    """The examples, by verb, from a server of their own."""
    said = [
        {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "Paris"}, "finish_reason": "stop"}]}
    ]
    with (
        Loopback() as model,
        Store.open(folder / "talk.db") as store,
        serving(folder / "talk.db", folder / "state") as served,
        served.client() as client,
        patch.dict(os.environ, HEADISH_NO_KEY="x"),
    ):
        store.pointers.set("local", "openai/m", base_url=f"{model.url}/v1", key_env="HEADISH_NO_KEY")
        store.pointers.set_default("local")
        for _ in range(3):
            model.answer(chunks=[*event_stream(said), b"data: [DONE]\n\n"])
        shown = Shown(client)
        show(shown, store)
        text = json.dumps(shown.examples).replace(model.url, "http://127.0.0.1:8080")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = collect(Path(folder))
    PLACE.write_text(json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
