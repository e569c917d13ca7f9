"""The module that reads each format, and the readers that other packages bring.

The modules are imported when they are needed: a process that imports nothing loads none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial as bind
from importlib import import_module

from msgspec.structs import replace

from headish.errors import BrokenExtension, HeadishError, UnknownFormat
from headish.imports.building import build_tree
from headish.imports.imported import ImportedTree, make_key
from headish.imports.reader import ImportReader, ImportSource, SourceConversation
from headish.values.extensions import Extension, find_extension, list_extensions

GROUP = "headish.readers"
"""The entry point group of the readers that other packages bring."""
READERS = {
    "chatgpt": "exports.chatgpt",
    "claude": "exports.claude_ai",
    "claude-code": "coding.claude_code",
    "codex": "coding.codex",
    "gemini-cli": "coding.gemini_cli",
    "cross-stream": "logs.cross_stream",
    "openai-finetune": "datasets.dataset_rows",
    "openai-log": "datasets.dataset_rows",
    "hf": "datasets.dataset_rows",
    "sharegpt": "datasets.dataset_rows",
    "oasst": "datasets.oasst",
    "records": "datasets.thread_records",
    "llm": "logs.llm_logs",
    "openai-agents": "frameworks.agents_sdk",
    "langgraph": "frameworks.langgraph.checkpoint_threads",
    "pydantic-ai": "frameworks.pydantic_ai",
    "open-webui": "services.open_webui",
    "librechat": "services.librechat",
    "inspect": "services.inspect_logs",
    "otel": "services.otel",
}
"""Each built-in format's module below ``readers``; its ``read_conversations`` is the reader."""


def list_formats() -> list[str]:
    """List the formats that have a reader: the built-in ones, then those of other packages. Loads no reader."""
    return [*READERS, *(name for name in list_extensions(GROUP) if name not in READERS)]


def find_reader(format: str) -> ImportReader:
    """Return the reader of a format; a built-in reader comes before one of another package.

    Raises: UnknownFormat if no reader has this name. A package that fails to load raises when its reader is first used.
    """
    if format in READERS:
        built_in: ImportReader = import_module(f"headish.imports.readers.{READERS[format]}").read_conversations
        return built_in
    brought = find_extension(GROUP, format)
    if brought is None:
        raise UnknownFormat(format, tuple(list_formats()))
    return bind(_read_brought, brought)


def read_trees(reader: ImportReader, source: ImportSource) -> Iterator[ImportedTree]:
    """Yield the conversations of a file as trees, without those in which nobody says anything."""
    for talk in reader(source):
        tree = build_tree(talk, source.notes, source.limit_bytes) if isinstance(talk, SourceConversation) else talk
        if tree is not None:
            yield tree


def _read_brought(brought: Extension, source: ImportSource) -> Iterator[SourceConversation]:
    """Yield the conversations of another package's reader, with keys under its own format's name, so that it cannot
    claim the turns of another format.

    Raises: BrokenExtension if the reader fails with an error other than a HeadishError.
    """
    reader = brought.load()
    try:
        for talk in reader(source):
            if not isinstance(talk, SourceConversation):
                raise TypeError(f"it yields a {type(talk).__name__}, not a SourceConversation")
            messages = [replace(message, key=make_key(brought.name, talk.id, message.id)) for message in talk.messages]
            # Not ``logged``: parents in other files would be looked for under FORMAT:ID, and these keys hold more.
            yield replace(talk, format=brought.name, messages=messages, logged=False)
    # InvalidImport and its kind are the reader's ordinary answers about a file, not a fault of the package.
    except HeadishError:
        raise
    except Exception as error:
        raise BrokenExtension(GROUP, brought.name, brought.package, error) from error
