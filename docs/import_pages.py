"""Write the pages of the import formats. Each piece is imported alone, to show what it becomes.

Where a file is found, and what is lost and why, comes from ``format_facts``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from format_facts import FORMATS, FRAMEWORKS, FormatFacts, Rows
from import_pieces import FILES, PIECES, PNG, Said

from headish import Store
from headish.imports.folders import LOGS
from headish.imports.imported import Imported

TITLE = """# Import formats

{note}What each reader of `headish import` makes of the pieces of a file; see how to
[import from other programs](../how-to/import-from-other-programs.md). The files of frameworks and services have
[a page of their own](imports/frameworks-and-services.md).

{rules}"""
FRAMEWORKS_TITLE = """# What imports make of frameworks' and services' files

<!-- Written by docs/generate.py; change the code and run `make docs`. -->

What each reader of `headish import` makes of the pieces of a file; see how to
[import from frameworks and services](../../how-to/import-from-frameworks-and-services.md).

{rules}"""
RULES = """What has no block of its own becomes a `provider` block, which holds it whole and is sent to nobody. `app` is the
turn's own meta.
"""
# ruff: noqa: E501
READERS_OF_OTHERS = """
## Readers of other packages

A package brings a reader under the entry point group `headish.readers`; the entry point's name is the format, and its
value a function `read(source)` that yields conversations (`headish.imports.reader`).
[Write an import reader](../how-to/write-an-import-reader.md) shows one of ten lines.

| it is given | what it is |
|---|---|
| `source.file` | the file, open for bytes at its beginning; it can be rewound, and a file packed with gzip or zstd is unpacked |
| `source.path`, `source.name` | its path, None for a stream; what errors call it |
| `source.notes` | `break_off(where, reason)` counts a broken record, `leave_out(where, what)` what says nothing, `keep(where, what)` what lies in `meta` |
| `source.limit_bytes`, `source.progress` | the largest payload that is stored; a function (or None) to be called with the bytes read since the last call |

| `SourceConversation` | what it says |
|---|---|
| `id` | the same in every import; it enters the keys |
| `messages` | `SourceMessage`s with every branch, in any order |
| `title`, `tags`, `archived`, `pinned`, `app` | the record of the conversation; the bookmark is made of the title |
| `tip` | the id of the message that the program shows last and that gets the bookmark; None: the newest |
| `edits` | True for a program in which people edit: first questions beside one another are versions of one |

| `SourceMessage` | what it says |
|---|---|
| `id`, `parent` or `parents` | its id in the conversation; the id of the message that it continues, or of several in order |
| `role`, `speaker`, `content` | system, developer, user, assistant or tool; a name; text or content blocks. Without content it is walked through |
| `said_at` | RFC 3339 text with a zone, or milliseconds since 1970 |
| `reply` | `provider`, `model`, `stop_reason`, `response_id`, `usage` with `input_tokens`, `output_tokens`, `cache_read_input_tokens`, `cache_creation_input_tokens` (disjoint) and `reasoning_tokens` (part of the output) |
| `hidden`, `inherited`, `cache` | model, people or both; options that the turn sets; a cache mark |
| `meta`, `where` | kept verbatim under `app.FORMAT`; where it stands in the file, for notes |
"""


def write_imports(note: str) -> str:
    """Return the page of the programs' formats: where the files are, what becomes what, what is lost, what was seen."""
    own = (_section(name, each) for name, each in FORMATS.items() if name not in FRAMEWORKS)
    return TITLE.format(note=note, rules=RULES) + "".join(own) + READERS_OF_OTHERS


def write_frameworks_and_services() -> str:
    """Return the same page for frameworks and services."""
    return FRAMEWORKS_TITLE.format(rules=RULES) + "".join(_section(name, FORMATS[name]) for name in FRAMEWORKS)


def _section(name: str, said: FormatFacts) -> str:
    watched = " `--watch` keeps its folder imported." if name in LOGS else ""
    facts = f"{said.where}{watched}\n\nFormat: `{name}`. Keys: {said.key}. Seen: {said.seen}.\n"
    computed = tuple((_shown(piece), _becomes(name, piece)) for piece in PIECES[name])
    usual = _kept_by_all(computed)
    if usual:
        keys = ", ".join(f"`{key}`" for key in usual)
        facts += f"\nEach of these turns keeps {keys} in `app`; the table shows what else is there.\n"
        computed = tuple((piece, _without(usual, becomes)) for piece, becomes in computed)
    return (
        f"\n## {said.title}\n\n{facts}\n{_table('piece', 'becomes', computed)}"
        f"\n{_table('lost, or not read', 'why', said.lost)}"
    )


_TURN = re.compile(r"(?:^|; )(?:system|developer|user|assistant|tool): ")
_APP = re.compile(r"`app`: ([\w, ]+)")


def _kept_by_all(rows: Rows) -> list[str]:
    """The keys of ``app`` that every turn of the rows has, in the order of the first."""
    kept = [keys.split(", ") for _, becomes in rows for keys in _APP.findall(becomes)]
    turns = sum(len(_TURN.findall(becomes)) for _, becomes in rows)
    return [key for key in kept[0] if all(key in each for each in kept)] if kept and len(kept) == turns else []


def _without(usual: list[str], becomes: str) -> str:
    """Remove the keys that every turn has from what a piece becomes."""

    def others(found: re.Match[str]) -> str:
        left = [key for key in found[1].split(", ") if key not in usual]
        return f"`app`: {', '.join(left)}" if left else ""

    return _APP.sub(others, becomes).replace(" ()", "").replace(", )", ")")


def _table(left: str, right: str, rows: Rows) -> str:
    lines = [f"| {left} | {right} |", "|---|---|", *(f"| {one} | {other} |" for one, other in rows)]
    return "\n".join(lines) + "\n" if rows else ""


def _shown(piece: Any) -> str:
    if isinstance(piece, Said):
        return piece.words
    text = piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False)
    text = text.replace(PNG, "…").replace("|", "\\|").replace("\n", " ")
    return f"`{text if len(text) < 150 else text[:147] + '…'}`"


def _becomes(format: str, piece: Any) -> str:
    content = piece.piece if isinstance(piece, Said) else piece
    # A store for each piece: in a common one, pieces that say the same would count as known.
    with Store.open(":memory:") as store, FILES[format](content) as source:
        imported = store.import_file(source, format)
        heads = sorted(store.heads(), key=lambda each: each.id)
        shown_ids: set[str] = set()
        facts: list[str] = []
        for head in heads:
            thread = [turn.id for turn in reversed(store.log(head.id, limit=9))]
            facts += [_turn(store, id) for id in thread if id not in shown_ids]
            shown_ids.update(thread)
        branches = [f"{len(heads)} branches"] if len(heads) > 1 else []
        return "; ".join([*facts, *branches, *_conversation(store), *_left(imported)]) or "nothing"


def _turn(store: Store, id: str) -> str:
    turn = store.get(id)
    [message] = [each for _, each in store.messages(id, limit=1)] or [None]
    kinds = "document" if message is None else ", ".join(f"`{block['type']}`" for block in message.to_dict()["content"])
    data = {} if message is None else message.to_dict()
    hidden = turn.meta.attributes.hidden if turn.meta.attributes is not None else None
    facts = [f"hidden from {hidden}"] if hidden else []
    facts += [f"reply {key}" for key in turn.meta.reply if key != "provider"]
    facts += [f"inherits {key}" for key in turn.meta.inherited]
    facts += ["cache"] if turn.meta.cache else []
    app_keys = [key for each in turn.meta.app.values() for key in each]
    facts += [f"`app`: {', '.join(app_keys)}"] if app_keys else []
    facts += ["failed"] if '"is_error": true' in json.dumps(data) else []
    return f"{turn.meta.role}: {kinds}" + (f" ({', '.join(facts)})" if facts else "")


def _conversation(store: Store) -> Iterator[str]:
    """What the record of the conversation holds apart from its title."""
    for entry in store.conversations.list(archived=None).entries:
        record = entry.conversation.record
        tags = [tag for tag in record.tags if tag not in PIECES]
        yield from (f"tag `{tag}`" for tag in tags)
        yield from (word for word, is_so in (("pinned", record.pinned), ("archived", record.archived)) if is_so)


def _left(done: Imported) -> Iterator[str]:
    yield from (
        f"left out: {what.removesuffix(' (left out)')}" for what in done.unmapped if what.endswith("(left out)")
    )
    if done.broken:
        yield "reported as broken"
