"""Read responses of llm's log before 0.32: a list in each conversation, and tables of what came with a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headish.imports.imported import make_key
from headish.imports.reader import SourceMessage
from headish.imports.readers.logs.llm_messages import FORMAT, Borrowed, reply_of
from headish.imports.readers.shared import make
from headish.imports.readers.shared.databases import ForeignFile
from headish.imports.readers.shared.json_records import load, utc
from headish.imports.readers.shared.make import Block

Row = Mapping[str, Any]


def read_responses(foreign: ForeignFile) -> Iterator[tuple[dict[str, Any], list[SourceMessage]]]:
    """Yield each conversation with its messages; a response without a conversation is one of its own.

    A response whose conversation is missing is one of its own, too. Raises: TooLargeValue; sqlite3.Error.
    """
    if "responses" not in foreign.tables:
        return
    # A response that is a turn as well is read as a part of its thread.
    new = " AND id NOT IN (SELECT id FROM turns)" if "turns" in foreign.tables else ""
    responses = _Responses(foreign)
    together = f"SELECT * FROM responses WHERE conversation_id = ?{new} ORDER BY datetime_utc, id"
    for conversation in foreign.select("SELECT * FROM conversations ORDER BY id"):
        nodes = responses.nodes(foreign.select(together, conversation["id"]))
        if nodes:
            yield conversation, nodes
    alone = "(conversation_id IS NULL OR conversation_id NOT IN (SELECT id FROM conversations))"
    for row in foreign.select(f"SELECT * FROM responses WHERE {alone}{new} ORDER BY id"):
        yield {"id": row["id"]}, responses.nodes([row])


class _Responses:
    def __init__(self, foreign: ForeignFile) -> None:
        self._foreign = foreign
        self._borrowed = Borrowed(foreign)

    def nodes(self, rows: list[dict[str, Any]]) -> list[SourceMessage]:
        """Return the messages, each continuing the one before; instructions come only where they change."""
        nodes: list[SourceMessage] = []
        instructions: str | None = None
        for row in rows:
            system = "\n\n".join(filter(None, [*self._fragments(row, "system_fragments"), row.get("system")]))
            if system and system != instructions:
                self._say(nodes, row, "system", [make.text(system)])
                instructions = system
            self._say(nodes, row, "results", self._results(row))
            self._say(nodes, row, "prompt", self._prompt(row))
            self._say(nodes, row, "", self._answer(row))
        return nodes

    def _say(self, nodes: list[SourceMessage], row: Row, part: str, blocks: list[Block]) -> None:
        if not blocks:
            return
        id = f"{row['id']}:{part}" if part else str(row["id"])
        reply, beside = ({}, {}) if part else reply_of(row)
        nodes.append(
            SourceMessage(
                id=id, parent=nodes[-1].id if nodes else None, role=_ROLES[part], content=blocks,
                said_at=utc(row.get("datetime_utc")), key=make_key(FORMAT, id), meta={"response": row["id"], **beside},
                reply=reply or None, where=f"response {row['id']}",
            )
        )  # fmt: skip

    def _prompt(self, row: Row) -> list[Block]:
        text = "\n".join(filter(None, [*self._fragments(row, "prompt_fragments"), row.get("prompt")]))
        attached = self._beside(row, "prompt_attachments", ' ORDER BY "order"')
        files = [self._borrowed.attachment(each["attachment_id"]) for each in attached]
        return [*files, *([make.text(text)] if text else [])]

    def _answer(self, row: Row) -> list[Block]:
        thought, text = row.get("reasoning"), row.get("response")
        blocks = [make.thinking(thought, FORMAT)] if thought else []
        blocks += [make.text(text)] if text else []
        for call in self._beside(row, "tool_calls", " ORDER BY id"):
            with_id = {"id": call["tool_call_id"]} if isinstance(call.get("tool_call_id"), str) else {}
            blocks.append({"type": "tool_use", "name": str(call["name"]), "input": load(call["arguments"]), **with_id})
        return blocks

    def _results(self, row: Row) -> list[Block]:
        """Return the results that a response was given: they come before its answer."""
        blocks: list[Block] = []
        for result in self._beside(row, "tool_results", " ORDER BY id"):
            content, failed = [make.text(str(result["output"] or ""))], bool(result.get("exception"))
            block = make.result(result.get("tool_call_id"), str(result["name"]), content, failed=failed)
            blocks.append(block | ({"exception": result["exception"]} if failed else {}))
        return blocks

    def _fragments(self, row: Row, table: str) -> list[str]:
        order = ' ORDER BY "order"'
        return [self._borrowed.fragment(each["fragment_id"]) for each in self._beside(row, table, order)]

    def _beside(self, row: Row, table: str, order: str) -> list[dict[str, Any]]:
        if table not in self._foreign.tables:
            return []
        return self._foreign.select(f"SELECT * FROM {table} WHERE response_id = ?{order}", row["id"])


_ROLES = {"system": "system", "results": "tool", "prompt": "user", "": "assistant"}
