"""Commands that emit a thread: ``export`` as a transcript, ``request`` as a provider's request body."""

from __future__ import annotations

import click

from headish_cli.options import Settings, headish_argument, pass_settings
from headish_cli.output import print_json, say

PAGES = ("html", "markdown", "text")


@click.command("export")
@headish_argument
@click.option("--to", "target", default="openchatml", show_default=True, metavar="FORMAT",
              help="v0.1, 2.0, 2.2 (openchatml), harmony, rwkv; for people html, markdown, text.")  # fmt: skip
@click.option("--drop", multiple=True, metavar="WHAT", help="Give up, by name, what the format cannot carry.")
@click.option("--as", "viewer", type=click.Choice(["user"]), help="Only what an end user may see.")
@click.option("--for-completion", is_flag=True, help="As a prompt: old reasoning dropped, the next answer open.")
@click.option("--debug", is_flag=True, help="In a page for people, show hidden messages too.")
@pass_settings
def export_command(
    settings: Settings,
    headish: str,
    target: str,
    drop: tuple[str, ...],
    viewer: str | None,
    for_completion: bool,
    debug: bool,
) -> None:
    """Print the thread that leads to a HEADISH as a transcript, or as a page for people.

    A thread that was imported from this format comes back byte for byte. What the format cannot carry is refused,
    unless --drop gives it up. A page holds only what an end user may see.
    """
    if debug and (viewer is not None or target not in PAGES):
        raise click.UsageError(f"--debug shows hidden messages in {', '.join(PAGES)}; other formats carry them anyway")
    if target in PAGES and (drop or for_completion):
        raise click.UsageError(f"--drop and --for-completion are for transcripts, not for {target}")
    with settings.open() as store:
        if target in PAGES:
            text = store.render(headish, target, debug=debug)
        else:
            text = store.export(headish, target, drop=drop, as_user=viewer == "user", for_completion=for_completion)
    # Bytes, because a text stream would change line ends on some systems.
    click.echo(text.encode(), nl=False)


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
