"""``record``: store a message list that a client re-sends with each request; only its new tail is stored."""

from __future__ import annotations

from typing import Any

import click

from headish.errors import InvalidArgument
from headish_cli.options import INPUT, GlobalOptions, file_or_pipe, read_named, settings_and_json
from headish_cli.printing.output import counted, print_json, say
from headish_cli.printing.telling import turn_record

_LISTS = ("messages", "input", "contents")
_KEPT = frozenset((*_LISTS, "system", "instructions", "systemInstruction", "system_instruction"))
"""The keys of a request body that hold the conversation."""


@click.command("record")
@click.argument("file", required=False, type=INPUT)
@click.option("--form", metavar="FORM",
              help="chat, responses, anthropic, gemini or cohere; detected by default.")  # fmt: skip
@click.option("-c", "--continues", metavar="HEADISH", help="Store the list below this turn.")
@click.option("-b", "--bookmark", metavar="NAME", help="The name of the list; it moves to the list's last turn.")
@settings_and_json
def record_command(settings: GlobalOptions, file: str | None, as_json: bool, **where: str | None) -> None:
    """Store a whole message list, and print the id of its last turn. What is stored already is recognised.

    FILE (or standard input) is JSON: the list of messages that the client of an API sends, or the body of its request.
    'headish export --to FORM' gives the list back as it was.
    """
    messages, further = _read_messages(file_or_pipe(file))
    with settings.open(create=True) as store:
        recorded = store.record(messages, **where)
        if further:
            say(f"Not stored: {', '.join(further)}.")
        if as_json:
            print_json({**turn_record(recorded.tip), "added": recorded.added})
            return
    click.echo(recorded.tip.id)
    say(f"{counted(recorded.added, 'new turn')}.")


def _read_messages(file: str) -> tuple[Any, list[str]]:
    """Read the list, or the conversation's keys of a request body; return it with the body's other keys."""
    from headish.content import strictjson

    value = strictjson.decode(read_named(file), "the list of messages")
    if isinstance(value, list):
        return value, []
    if not isinstance(value, dict) or not any(isinstance(value.get(key), list | str) for key in _LISTS):
        raise InvalidArgument(
            "record takes a JSON list of messages, or an object with one under messages, input or contents"
        )
    conversation = {key: value for key, value in value.items() if key in _KEPT and value is not None}
    return conversation, sorted(value.keys() - _KEPT)
