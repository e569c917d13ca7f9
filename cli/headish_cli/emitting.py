"""Commands that emit a thread: ``export`` as a transcript, ``request`` as a provider's request body."""

from __future__ import annotations

import click

from headish_cli.options import Settings, headish_argument, pass_settings
from headish_cli.output import print_json, say


@click.command("export")
@headish_argument
@click.option(
    "--to", "target", default="openchatml", show_default=True, metavar="FORMAT", help="The transcript format."
)
@click.option("--drop", multiple=True, metavar="WHAT", help="Give up, by name, what the format cannot carry.")
@pass_settings
def export_command(settings: Settings, headish: str, target: str, drop: tuple[str, ...]) -> None:
    """Print the thread that leads to a HEADISH as a transcript."""
    with settings.open() as store:
        window = store.resolve(headish)
    from headish.transcripts import encode

    # Bytes, because a text stream would change line ends on some systems.
    click.echo(encode(window, target, drop=drop).encode(), nl=False)


@click.command("request")
@headish_argument
@click.option("--to", "provider", default="anthropic", show_default=True, metavar="PROVIDER", help="Whose request.")
@click.option("--model", metavar="NAME", help="The model to ask for.")
@click.option("--json", "as_json", is_flag=True, help="Print the body on one line.")
@pass_settings
def request_command(settings: Settings, headish: str, provider: str, model: str | None, as_json: bool) -> None:
    """Print the request body that asks a provider to continue a HEADISH. What was repaired or left out is told."""
    with settings.open() as store:
        window = store.resolve(headish)
    from headish.providers import prepare_request

    emission = prepare_request(provider, window, model=model)
    print_json(emission.body, pretty=not as_json)
    for note in emission.notes:
        say(f"note: {note.what}" + (f" (turn {note.turn})" if note.turn else ""))
