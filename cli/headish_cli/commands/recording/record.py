"""``record``: a client's message list, of which only the new tail is stored."""

from __future__ import annotations

from typing import Any

import click

from headish_cli.options import Settings, json_option, pass_settings, read_file
from headish_cli.printing.output import counted, print_json, say
from headish_cli.printing.telling import turn_record

_KEPT = frozenset(
    ("messages", "system", "input", "instructions", "contents", "systemInstruction", "system_instruction")
)  # fmt: skip
"""The keys of a body that are the conversation."""


@click.command("record")
@click.argument("file", metavar="FILE|-", type=click.Path(allow_dash=True))
@click.option("--form", metavar="FORM",
              help="chat, responses, anthropic, gemini or cohere; told by its shape where left out.")  # fmt: skip
@click.option("-b", "--bookmark", metavar="NAME", help="Match in the tree of this name, and move it to the end.")
@click.option("-c", "--continues", metavar="HEADISH", help="The turn that the list follows.")
@json_option
@pass_settings
def record_command(
    settings: Settings, file: str, form: str | None, bookmark: str | None, continues: str | None, as_json: bool
) -> None:
    """Store what is new of a message list, and print the id of its last turn.

    FILE holds JSON: the list that the client of an API sends, or the body of its request; - is standard input. What is
    stored already is recognised. 'headish export --to FORM' gives the list back as it was.
    """
    from headish.content import strictjson

    given: Any = strictjson.decode(read_file(file), "the list")
    further: list[str] = []
    if isinstance(given, dict):
        further = sorted(given.keys() - _KEPT)
        given = {key: value for key, value in given.items() if key in _KEPT and value is not None}
    elif not isinstance(given, list):
        raise click.UsageError("FILE holds a list of messages, or the body of a request")
    with settings.open(create=True) as store:
        recorded = store.record(given, form=form, bookmark=bookmark, continues=continues)
        if further:
            say(f"Not stored: {', '.join(further)}.")
        if as_json:
            print_json({**turn_record(recorded.tip), "added": recorded.added})
        else:
            click.echo(recorded.tip.id)
            say(f"{counted(recorded.added, 'new turn')}.")
