"""``record``: a message list that a client sends again and again; only its new tail is stored."""

from __future__ import annotations

from typing import Any

import click

from headish_cli.options import Settings, json_option, pass_settings, read_file
from headish_cli.printing.output import counted, print_json, say
from headish_cli.printing.telling import turn_record


@click.command("record")
@click.argument("file", default="-", type=click.Path(allow_dash=True))
@click.option("-c", "--continues", metavar="HEADISH", help="Store the list below this turn.")
@click.option("-b", "--bookmark", metavar="NAME", help="The name of the list: it moves wherever the list leads.")
@json_option
@pass_settings
def record_command(settings: Settings, file: str, continues: str | None, bookmark: str | None, as_json: bool) -> None:
    """Store a whole message list, and print the id of its last turn. What is stored already is recognised.

    FILE (or standard input) is a JSON list of messages, each with a role and content, or an object with such a list
    under "messages".
    """
    messages = _read_messages(file)
    with settings.open(create=True) as store:
        recorded = store.record(messages, continues=continues, bookmark=bookmark)
        if as_json:
            print_json({**turn_record(recorded.tip), "added": recorded.added})
            return
    click.echo(recorded.tip.id)
    say(f"{counted(recorded.added, 'turn')} of {counted(len(messages), 'message')} had to be stored.")


def _read_messages(file: str) -> list[Any]:
    from headish.content import strictjson
    from headish.errors import InvalidArgument

    what = "the list of messages"
    try:
        given = strictjson.decode(read_file(file), what)
    except OSError as error:
        raise InvalidArgument(f"the file {file!r} cannot be read: {error.strerror}") from None
    found = given.get("messages") if isinstance(given, dict) else given
    if not isinstance(found, list):
        raise InvalidArgument('record takes a JSON list of messages, or an object with one under "messages"')
    return found
