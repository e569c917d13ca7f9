"""``record``: a client's list from a file or a pipe, stored once and given back."""

from __future__ import annotations

import json
from pathlib import Path

from support.command import Command

BODY = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Zürich?", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]},
    ],
}


class TestRecord:
    def test_a_body_is_stored_once_and_comes_back(self, headish: Command, tmp_path: Path) -> None:
        file = tmp_path / "body.json"
        file.write_text(json.dumps({"model": "m", **BODY}), encoding="utf-8")
        first = headish("record", str(file), "-b", "main")
        assert first.err == "Not stored: model.\n3 new turns.\n"
        again = headish("record", str(file), "-b", "main")
        assert (again.out, again.err) == (first.out, "Not stored: model.\n0 new turns.\n")
        assert json.loads(headish("export", "main", "--to", "anthropic").out) == BODY

    def test_a_list_comes_from_a_pipe_and_json_says_how_much_was_new(self, headish: Command) -> None:
        items = [{"role": "user", "content": "Hi"}, {"type": "reasoning", "id": "r", "summary": []}]
        said = headish("record", "-", "--form", "responses", "--json", stdin=json.dumps(items)).json
        assert (said["added"], said["meta"]["role"]) == (2, "assistant")
        assert json.loads(headish("export", said["id"], "--to", "responses").out) == {"input": items}

    def test_what_is_no_list_is_refused_in_one_line(self, headish: Command) -> None:
        assert "is not JSON" in headish.fails("record", "-", stdin="x")
        assert "messages, input or contents" in headish.fails("record", "-", stdin='{"a": 1}')
        assert "known are chat, responses" in headish.refuses("record", "-", "--form", "x", stdin="[]")
        assert "cannot carry reasoning" in headish.fails("export", self.recorded(headish), "--to", "cohere")

    def recorded(self, headish: Command) -> str:
        return headish("record", "-", stdin=json.dumps(BODY)).out.strip()
