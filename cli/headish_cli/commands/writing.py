"""Commands that store turns: ``add`` and ``doc``."""

from __future__ import annotations

from typing import Any

import click

from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish_cli.commands.talking.saying import attach_option, name_of, read_content
from headish_cli.options import (
    INPUT,
    CachingCommand,
    GlobalOptions,
    cache_option,
    expect_options,
    force_option,
    parse_settings,
    read_expect,
    read_stdin,
    read_time,
    refuse_without,
    settings_and_json,
    together,
)
from headish_cli.printing.telling import tell_turn

_continues = click.option("-c", "--continues", multiple=True, metavar="HEADISH",
                          help="What the turn continues; several times to merge.")  # fmt: skip
_bookmark = click.option("-b", "--bookmark", metavar="NAME", help="Set this name to the new turn, or move it forward.")
_said_at = click.option(
    "--said-at", metavar="TIME", help="When it was said, if not now: RFC 3339; UTC where it has no offset."
)

_key = click.option("--key", metavar="KEY", help="What another system calls the turn; a known one is stored once.")


_inherited = together(
    click.option("-p", "--provider-ptr", metavar="PTR", help="Inherited: which provider pointer to call."),
    click.option("--server", "servers", multiple=True, metavar="NAME",
                 help="Inherited: MCP servers; several times."),
    click.option("--search/--no-search", default=None, help="Inherited: the provider's own search."),
    click.option("--tool-mode", metavar="MODE", help="Inherited: auto, any, none or a tool's name."),
    click.option("--role", default="user", show_default=True, help="system, developer, user, assistant or tool."),
    click.option("--set", "settings_pairs", multiple=True, metavar="KEY=JSON",
                 help="Inherited: any option; a.b=1 sets inside a record, null switches off."),
)  # fmt: skip
"""Options for the role, and options that the turn and what continues it inherit."""


def _read_given(
    continues: tuple[str, ...], servers: tuple[str, ...], settings_pairs: tuple[str, ...], said_at: str | None
) -> dict[str, Any]:
    """The arguments of the library that turns of text and of documents share."""
    return {
        "continues": list(continues) or None,
        "servers": list(servers) or None,
        "inherited": parse_settings(settings_pairs),
        "said_at": read_time(said_at, "--said-at"),
    }


@click.command("add", cls=CachingCommand)
@click.argument("text", required=False, metavar="[TEXT|-]")
@_continues
@click.option("-r", "--respond", is_flag=True, help="Continue the newest turn of the space.")
@_bookmark
@_inherited
@attach_option
@click.option("--json-blocks", is_flag=True, help="The text is JSON: a list of content blocks.")
@cache_option
@_said_at
@_key
@click.option("--speaker", metavar="NAME", help="Who speaks, beside the role.")
@click.option("--channel", metavar="CHANNEL", help="analysis, commentary or final.")
@click.option("--intent", metavar="WORD", help="preamble shows commentary to the user; status, debug.")
@expect_options
@force_option
@settings_and_json
def add_command(
    settings: GlobalOptions, text: str | None, continues: tuple[str, ...], servers: tuple[str, ...],
    settings_pairs: tuple[str, ...], json_blocks: bool, speaker: str | None, channel: str | None,
    intent: str | None, said_at: str | None, expect: str | None, absent: bool, as_json: bool,
    attached: tuple[str, ...], **options: Any,
) -> None:  # fmt: skip
    """Store a turn and print its id.

    A turn that continues a bookmark moves the bookmark along. One that continues an older turn starts a branch.
    Standard input from a pipe or file is added below TEXT and a blank line; - takes standard input alone.
    """
    if options["bookmark"] is None:
        refuse_without("--bookmark", "force")
    arguments = _read_given(continues, servers, settings_pairs, said_at)
    content = read_content(text, attached)
    # None only with `may_be_absent`.
    assert content is not None
    if content == "":  # the text came from an unset variable of a shell
        raise click.UsageError("there is nothing to store: the text is empty")
    if json_blocks and attached:
        raise click.UsageError("--json-blocks holds the documents itself: leave --attach out")
    if json_blocks and text not in (None, "-", content):
        raise click.UsageError("--json-blocks takes TEXT or standard input, not both")
    with settings.open(create=True) as store:
        # Before: afterwards nobody could tell the turn that was known from a new one.
        known_turn = options["key"] and store.find(options["key"])
        turn = store.add_turn(
            content,
            **arguments,
            json=json_blocks,
            expect=read_expect(expect, absent, store),
            attributes={"speaker": speaker, "channel": channel, "intent": intent},
            **options,
        )
        tell_turn(store, turn, as_json, known=turn == known_turn)


@click.command("doc", cls=CachingCommand)
@click.argument("path", type=INPUT)
@click.option("--name", help="The name to show.  [default: that of the file]")
@click.option("--content-type", metavar="TYPE", help="The media type.  [default: detected from name or content]")
@click.option("--keep-path", is_flag=True, help="Keep the whole path with the turn, not only the name.")
@_continues
@_bookmark
@_inherited
@cache_option
@_said_at
@_key
@settings_and_json
def doc_command(
    settings: GlobalOptions, path: str, continues: tuple[str, ...], servers: tuple[str, ...],
    settings_pairs: tuple[str, ...], said_at: str | None, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Store a document as a turn and print its id. PATH may be - for standard input."""
    arguments = _read_given(continues, servers, settings_pairs, said_at)
    if path == "-":
        refuse_without("a file", "keep_path")
    document: bytes | str = read_stdin(PAYLOAD_LIMIT_BYTES) if path == "-" else path
    if options["name"] is None:
        name_of(path, "--name gives another name")
    with settings.open(create=True) as store:
        known_turn = options["key"] and store.find(options["key"])
        turn = store.add_document(document, **arguments, **options)
        tell_turn(store, turn, as_json, known=turn == known_turn)
