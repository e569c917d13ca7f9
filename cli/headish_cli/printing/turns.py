"""A turn in full, for people: its facts, then its content."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from headish.values.checks.controls import escape_controls
from headish.values.times import local_time
from headish_cli.printing.output import content_of, counted, marks, one_line
from headish_cli.printing.said import who, words

if TYPE_CHECKING:
    from headish import Store, Turn
    from headish.values.blocks import ContentBlock

TOKENS = (("input_tokens", "in"), ("output_tokens", "out"))


def print_turn(store: Store, turn: Turn) -> None:
    """Print a turn in full: a line for each fact, an empty line, and its content, indented."""
    for name, value in turn_facts(store, turn):
        # 22: a column of 14, and the 8 characters of the style, which click removes where there is no colour.
        click.echo(f"{click.style(f'{name}:', dim=True):<22}{value}" if name else value)
    click.echo("")
    print_content(content_of(store, turn.id))


def print_content(content: Sequence[ContentBlock], indent: str = "    ") -> None:
    """Print all that a turn says, each line indented, with an empty line between blocks."""
    for number, block in enumerate(content):
        if number:
            click.echo("")
        for line in block_lines(block):
            click.echo((indent + escape_controls(line)).rstrip())


def turn_facts(store: Store, turn: Turn) -> Iterator[tuple[str, str]]:
    """Yield the facts of a turn as ``(name, value)``; the first, its heading, has no name."""
    meta, reply = turn.meta, turn.meta.reply
    handles = store.abbreviate([turn.id, *meta.continues])
    names = marks(store.bookmarks.at([turn.id]).get(turn.id, []))
    yield "", f"{click.style(handles[turn.id], fg='yellow')} {who(meta).rstrip()}{names}"
    yield "Id", turn.id
    yield "Said", local_time(turn.said_at, "seconds")
    if turn.said_at != turn.time:
        yield "Stored", local_time(turn.time, "seconds")
    if meta.continues:
        yield "Continues", ", ".join(handles[each] for each in meta.continues)
    if reply:
        yield "Model", one_line(f"{reply.get('model') or 'unnamed'} ({reply.get('provider')})", 200)
        yield from _reply_facts(reply)
    if meta.attributes.overlay:
        yield "Overlay", words(meta, ())
    if meta.is_cut_off:
        yield "Incomplete", click.style("the message was cut off", fg="red")
    for name, value in (("Author", meta.system.get("author")), ("Key", meta.key), ("File", meta.document_name)):
        if value is not None:
            yield name, one_line(str(value), 200)
    if meta.cache:
        time = f", for {meta.cache}" if isinstance(meta.cache, str) else ""
        yield "Cache", f"a provider may keep the prompt up to here{time}"


def _reply_facts(reply: object) -> Iterator[tuple[str, str]]:
    record = reply if isinstance(reply, dict) else {}
    if record.get("stop_reason"):
        yield "Stopped", one_line(str(record["stop_reason"]), 60)
    usage = record.get("usage")
    if isinstance(usage, dict):
        tokens = [f"{usage[key]:,} {word}" for key, word in TOKENS if type(usage.get(key)) is int]
        if tokens:
            yield "Tokens", ", ".join(tokens)


def block_lines(block: ContentBlock) -> Iterator[str]:
    """The lines of a content block for people: text unchanged, any other block below a line that names its kind."""
    from headish.values import blocks

    match block:
        case blocks.Text(text=text):
            yield from text.splitlines() or [""]
        case blocks.Thinking(text=text):
            yield "(thinking)"
            yield from text.splitlines()
        case blocks.ToolUse(name=name):
            yield f"(call {one_line(name, None)})"
            yield from _arguments(block)
        case blocks.ToolResult(name=name, content=content):
            failed = ", failed" if block.is_error else ""
            yield f"(result{' of ' + one_line(name, None) if name else ''}{failed})"
            for part in content:
                yield from block_lines(part)
        case blocks.Document():
            yield from _document_lines(block)
        case blocks.Erased():
            yield f"({block})"
        case _:
            yield f"({one_line(blocks.kind_of(block), None)})"
            yield from _pretty(blocks.to_mapping(block))


def _arguments(call: ContentBlock) -> Iterable[str]:
    raw, parsed = getattr(call, "raw", None), getattr(call, "input", None)
    return raw.splitlines() if isinstance(raw, str) else _pretty(parsed)


def _document_lines(document: ContentBlock) -> Iterator[str]:
    source, name = getattr(document, "source", None), getattr(document, "name", None)
    media_type, data = getattr(source, "media_type", None) or "document", getattr(source, "data", None)
    # Base64 has four characters for three bytes; decoding megabytes for their number would be a waste.
    size = counted(len(data) * 3 // 4, "byte") if isinstance(data, str) else getattr(source, "url", None) or ""
    yield f"(document {' · '.join(one_line(str(each), None) for each in (name, media_type, size) if each)})"
    if isinstance(data, str) and media_type.startswith("text/"):
        try:
            yield from b64decode(data).decode().splitlines()
        except ValueError:
            pass  # not base64, or not UTF-8: the heading must do


def _pretty(value: object) -> list[str]:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode().splitlines()
