"""Read messages of llm's log since 0.32: parts as content blocks, with the fragments and attachments that they refer
to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headish.content.media import guess_media_type
from headish.imports.imported import make_key
from headish.imports.reader import SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.databases import ForeignFile
from headish.imports.readers.shared.json_records import load
from headish.imports.readers.shared.make import Block
from headish.values import shapes

FORMAT = "llm"
ROLES = ("system", "developer", "user", "assistant", "tool")
Row = Mapping[str, Any]
# UNION, not UNION ALL: it drops repeated hashes, so that messages in a circle end.
_UP = """
WITH RECURSIVE up(hash) AS (
  SELECT hash FROM messages WHERE hash = ?
  UNION SELECT messages.parent_hash FROM up JOIN messages ON messages.hash = up.hash WHERE parent_hash IS NOT NULL
)
"""
_MESSAGES = _UP + "SELECT messages.* FROM up JOIN messages ON messages.hash = up.hash"
_PARTS = _UP + "SELECT parts.* FROM up JOIN parts ON parts.message_hash = up.hash ORDER BY position"


class Borrowed:
    """Fragments and attachments by their ids, each read when it is asked for."""

    def __init__(self, foreign: ForeignFile) -> None:
        self._foreign = foreign

    def fragment(self, id: Any) -> str:
        """Return the text of a fragment; empty if it is gone."""
        row = self._row("SELECT content FROM fragments WHERE id = ?", id)
        return str(row["content"] or "") if row is not None else ""

    def attachment(self, id: Any) -> Block:
        """Return an attachment as a document; one without bytes in the database as a provider's block with its name."""
        row = self._row("SELECT * FROM attachments WHERE id = ?", id)
        if row is None or not isinstance(row["content"], bytes):
            reference = {key: value for key, value in (row or {"id": id}).items() if value is not None}
            return make.own(FORMAT, {"type": "attachment", "attachment": reference})
        data = row["content"]
        return make.document(make.base64(shapes.name(row["type"]) or guess_media_type(data), data))

    def _row(self, statement: str, id: Any) -> Row | None:
        """Return a row by its id, which may be any JSON value."""
        rows = self._foreign.select(statement, id) if isinstance(id, str | int | float) else []
        return rows[0] if rows else None


def read_messages(foreign: ForeignFile, tips: Sequence[str]) -> dict[str, SourceMessage]:
    """Return the messages that lead to the tips, by their hashes. Raises: TooLargeValue; sqlite3.Error."""
    rows: dict[str, Row] = {}
    parts: defaultdict[str, dict[Any, Row]] = defaultdict(dict)
    for tip in tips:
        # Its thread was read on the way to another tip.
        if tip in rows:
            continue
        rows.update((row["hash"], row) for row in foreign.select(_MESSAGES, tip))
        for part in foreign.select(_PARTS, tip):
            parts[part["message_hash"]][part["position"]] = part
    borrowed = Borrowed(foreign)
    return {hash: _node(row, parts[hash].values(), borrowed) for hash, row in rows.items()}


def _node(row: Row, parts: Iterable[Row], borrowed: Borrowed) -> SourceMessage:
    blocks = [block for part in parts for block in _part(part, borrowed)]
    role = row["role"] if row["role"] in ROLES else "user"
    metadata = load(row["provider_metadata"])
    return SourceMessage(
        id=row["hash"], parent=row["parent_hash"], role=role, content=blocks or None, key=make_key(FORMAT, row["hash"]),
        meta={"hash": row["hash"], **({"provider_metadata": metadata} if metadata else {})},
        where=f"message {row['hash']}",
    )  # fmt: skip


def _part(part: Row, borrowed: Borrowed) -> list[Block]:
    payload = dict(shapes.record(load(part["payload"])))
    pieces = payload.pop("text_ref", None)
    if isinstance(part["text"], str):
        payload["text"] = part["text"]
    elif isinstance(pieces, list):
        payload["text"] = "".join(_piece(piece, borrowed) for piece in pieces)
    read = _PARTS_READ.get(str(part["type"]))
    blocks = [] if read is None else read(payload, borrowed)
    return blocks or [make.own(FORMAT, {"type": part["type"], **payload})]


def _piece(piece: Any, borrowed: Borrowed) -> str:
    piece = shapes.record(piece)
    return str(piece["literal"]) if "literal" in piece else borrowed.fragment(piece.get("fragment"))


def _text(payload: Block, borrowed: Borrowed) -> list[Block]:
    return [{"type": "text", "text": payload.get("text", ""), **_rest(payload, "text")}]


def _reasoning(payload: Block, borrowed: Borrowed) -> list[Block]:
    return [{**make.thinking(payload.get("text", ""), FORMAT), **_rest(payload, "text")}]


def _call(payload: Block, borrowed: Borrowed) -> list[Block]:
    if not isinstance(payload.get("name"), str):
        return []
    call = {"type": "tool_use", "name": payload["name"], "input": payload.get("arguments", {})}
    id = {"id": payload["tool_call_id"]} if isinstance(payload.get("tool_call_id"), str) else {}
    return [{**call, **id, **_rest(payload, "name", "arguments", "tool_call_id")}]


def _result(payload: Block, borrowed: Borrowed) -> list[Block]:
    output = payload.get("output")
    content = [make.text(output)] if isinstance(output, str) else []
    content += [borrowed.attachment(_ref(each)) for each in shapes.listed(payload.get("attachments"))]
    failed = payload.get("exception") is not None
    result = make.result(payload.get("tool_call_id"), payload.get("name"), content, failed=failed)
    return [{**result, **_rest(payload, "name", "output", "tool_call_id", "attachments")}]


def _attachment(payload: Block, borrowed: Borrowed) -> list[Block]:
    return [borrowed.attachment(_ref(payload.get("attachment")))]


def _ref(given: Any) -> Any:
    return shapes.record(given).get("id")


def _rest(payload: Block, *said: str) -> Block:
    return {key: value for key, value in payload.items() if key not in (*said, "type", "extra")}


def reply_of(row: Row) -> tuple[Block, Block]:
    """Return what a turn or an older response says of its answer, and what is kept beside it."""
    model = row.get("resolved_model") or row.get("model")
    usage = {name: row[name] for name in ("input_tokens", "output_tokens") if type(row.get(name)) is int}
    beside = {name: load(row.get(name)) for name in ("options_json", "token_details", "response_json", "prompt_json")}
    beside |= {"duration_ms": row.get("duration_ms"), "turn": row.get("id"), "schema_id": row.get("schema_id")}
    return make.reply(FORMAT, usage, model=model), {key: value for key, value in beside.items() if value}


_PARTS_READ: dict[str, Callable[[Block, Borrowed], list[Block]]] = {
    "text": _text,
    "reasoning": _reasoning,
    "tool_call": _call,
    "tool_result": _result,
    "attachment": _attachment,
}
