"""Claude Code's sessions: ``~/.claude/projects/PROJECT/SESSION.jsonl``, one record per line.

An answer has a line for each content block, all with the same ``message.id``: they become one turn, whose usage counts
once. The results of parallel calls hang on different lines of one answer; here they follow one another. A rewind is a
fork, and the line that was written last is the tip. A message that was typed while the program worked is an attachment.
Lines that say nothing (progress, other attachments, system records) are part of the chain of parents and are skipped. A
compaction's summary becomes an overlay that covers what it sums up, but not the messages that were kept, which the
program writes a second time after it.

Sessions share lines, and continue lines of other files, so a key is global: ``claude-code:UUID``. The conversation's
key is ``claude-code:SESSION``. A sub-agent's lines are a conversation of their own.

Source: docs of the format by others and real projects of 2025 and 2026, read 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from headish.imports.building import build_tree
from headish.imports.cleaning import NotJson, decode
from headish.imports.imported import ImportedTree
from headish.imports.reader import ImportSource
from headish.imports.readers.coding.claude_thread import FORMAT as FORMAT
from headish.imports.readers.coding.claude_thread import SPEAKERS, SessionThread, WrittenLate, as_said
from headish.imports.readers.shared.json_records import RecordLine, read_records
from headish.values.checks.files import open_regular

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Records that give a title, the strongest first, and the key that holds it."""
DESCRIBED, DESCRIBED_BYTES = ".meta.json", 1024 * 1024
"""The ending of the file with a sub-agent's task, and the most bytes of it to read."""
PORTION_LINES = 1000
"""The number of lines after which whole messages are given out: held to the end, a session of 40 MB took 220 MB."""


def read_conversations(given: ImportSource) -> Iterator[ImportedTree]:
    """Yield the conversations of a session's file: the session itself, and each sub-agent that speaks in it.

    A long session comes in portions, the last one with its name. With a tail, yields only what is new after it.
    """
    tail = given.tail
    session = tail.state if tail is not None and isinstance(tail.state, _Session) else _Session()
    begin = (given.notes.broken, dict(given.notes.counts))
    try:
        yield from session.read(given)
    except WrittenLate:
        # Read the whole again: keys recognise what is already stored, and what grew supersedes its first half.
        session = _Session(in_portions=False)
        given.notes.rewind(*begin)
        given.file.seek(0)
        if tail is not None:
            tail.offset = tail.lines = 0
        yield from session.read(given)
    if tail is not None:
        tail.state = session


class _Session:
    """A session's file while it is read: its threads, and the titles in it."""

    def __init__(self, *, in_portions: bool = True) -> None:
        self._in_portions = in_portions
        self._titles: dict[str, str] = {}
        self._threads: dict[str | None, SessionThread] = {}

    def read(self, given: ImportSource) -> Iterator[ImportedTree]:
        """Yield the conversations of the lines from here on. Raises: WrittenLate."""
        waiting = 0
        for line in read_records(given):
            self._take(as_said(line), given)
            waiting += 1
            # A sub-agent in the same file continues lines of the session, which may not be whole yet.
            if waiting >= PORTION_LINES and self._in_portions and len(self._threads) == 1:
                waiting = 0
                yield from self._portion(given)
        title = next((self._titles[kind] for kind in _TITLES if kind in self._titles), None)
        described = _read_description(given.path)
        for agent, thread in self._threads.items():
            messages = thread.take(given.notes, is_running=given.is_running)
            talk = replace(thread.talk(given.name, agent, title, described), messages=messages)
            tree = build_tree(talk, given.notes, given.limit_bytes, is_sound=thread.is_sound)
            thread.gave(messages, tree)
            if tree is not None:
                yield tree

    def _portion(self, given: ImportSource) -> Iterator[ImportedTree]:
        """Yield the messages that nothing can be added to any more, as a part without a name."""
        [(agent, thread)] = self._threads.items()
        messages = thread.take_whole(given.notes)
        talk = replace(thread.talk(given.name, agent, None, {}), messages=messages)
        tree = build_tree(talk, given.notes, given.limit_bytes, is_sound=thread.is_sound)
        thread.gave(messages, tree)
        if tree is not None:
            yield replace(tree, about=None, goes_on=True)

    def _take(self, line: RecordLine, given: ImportSource) -> None:
        record = line.record
        kind = record.get("type")
        title = record.get(_TITLES[kind]) if isinstance(kind, str) and kind in _TITLES else None
        if isinstance(title, str):
            self._titles[str(kind)] = title
        elif isinstance(record.get("uuid"), str):
            agent = _agent_of(record)
            if kind in SPEAKERS and len(self._threads) > 1:
                for name, other in self._threads.items():
                    if name != agent:
                        other.tail.close()
            if agent not in self._threads:
                self._threads[agent] = SessionThread()
            self._threads[agent].add(line, given.notes)
        else:
            if kind == "last-prompt":  # written when a prompt is done, so its answer is whole and not held back
                for thread in self._threads.values():
                    thread.tail.end_at(record.get("leafUuid"))
            given.notes.leave_out(line.where, f"record of type {kind}")


def _agent_of(record: Mapping[str, Any]) -> str | None:
    """Return the sub-agent that a line belongs to, None for the session itself."""
    if record.get("isSidechain") is not True:
        return None
    agent = record.get("agentId")
    return agent if isinstance(agent, str) else "sidechain"


def _read_description(path: str | None) -> Mapping[str, Any]:
    """Read the file beside a sub-agent's: its task, and the call that started it."""
    description: Any = None
    if path is not None and path.endswith(".jsonl"):
        try:
            with open_regular(path.removesuffix(".jsonl") + DESCRIBED) as file:
                description, _ = decode(file.read(DESCRIBED_BYTES))
        except (OSError, NotJson):
            return {}  # only sub-agents have one, and their sessions are read without it, too
    return description if isinstance(description, Mapping) else {}
