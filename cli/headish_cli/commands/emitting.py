"""``export``: a thread as a transcript, or as a page for people."""

from __future__ import annotations

from typing import Any

import click

from headish_cli.options import Settings, headish_argument, pass_settings
from headish_cli.printing.output import say, write

PAGES = ("html", "markdown", "text")
KEPT = "its message has no end, and 'headish import --partial' reads it"
DROPPED = "the transcript does not say so"


@click.command("export")
@headish_argument
@click.option("--to", "target", default="openchatml", show_default=True, metavar="FORMAT",
              help="v0.1, 2.0, 2.2 (openchatml), harmony, rwkv; as JSON chat, responses, anthropic, gemini, "
                   "cohere; for people html, markdown, text.")  # fmt: skip
@click.option("--drop", multiple=True, metavar="WHAT", help="Give up, by name, what the format cannot carry.")
@click.option("--as", "viewer", type=click.Choice(["user"]), help="Only what an end user may see.")
@click.option("--for-completion", is_flag=True, help="As a prompt: old reasoning dropped, the next answer open.")
@click.option("--policy", type=click.Choice(["ocm", "harmony"]), default="ocm", show_default=True,
              help="Which old reasoning --for-completion drops.")  # fmt: skip
@click.option("--for-training", is_flag=True, help="End a final answer at the end with <|return|>.")
@click.option("--relaxed", is_flag=True, help="Write bodies that break their constraint, and missing channels.")
@click.option("--tight", is_flag=True, help="v0.1: no line break before <|im_end|> where headish writes a message.")
@click.option("--bos", default="[BOS]", help="v0.1: the base model's token for the beginning.")
@click.option("--eos", default="[EOS]", help="v0.1: the base model's token for the end.")
@click.option("--branches", is_flag=True, help="In a page for people, show the other branches and the bookmarks too.")
@click.option("--raw", is_flag=True, help="In a transcript, every turn as it was stored, whatever overlays say.")
@click.option("--debug", is_flag=True, help="In a page for people, show hidden messages too.")
@pass_settings
def export_command(
    settings: Settings,
    headish: str,
    target: str,
    drop: tuple[str, ...],
    viewer: str | None,
    for_completion: bool,
    for_training: bool,
    relaxed: bool,
    branches: bool,
    debug: bool,
    raw: bool,
    **spelling: Any,
) -> None:
    """Print the thread that leads to a HEADISH as a transcript, or as a page for people.

    A thread that was imported from this format comes back byte for byte. What the format cannot carry is refused,
    unless --drop gives it up. A page holds only what an end user may see, and only this thread: --branches adds every
    other branch of its tree.
    """
    if branches and (viewer is not None or target not in PAGES):
        raise click.UsageError(f"--branches is for {', '.join(PAGES)}, without --as: all else is the thread alone")
    if debug and (viewer is not None or target not in PAGES):
        raise click.UsageError(f"--debug shows hidden messages in {', '.join(PAGES)}; other formats carry them anyway")
    if target in PAGES and (drop or for_completion or for_training):
        raise click.UsageError(f"--drop, --for-completion and --for-training are for transcripts, not for {target}")
    if raw and target in PAGES:
        raise click.UsageError(f"--raw is for transcripts, not for {target}: --debug shows what is hidden")
    from headish.errors import UnknownFormat

    with settings.open() as store:
        if target in PAGES:
            text = store.render(headish, target, branches=branches, debug=debug)
        else:
            try:
                text = store.export(
                    headish,
                    target,
                    drop=drop,
                    as_user=viewer == "user",
                    for_completion=for_completion,
                    for_training=for_training,
                    strict=not relaxed,
                    raw=raw,
                    **spelling,
                )
            except UnknownFormat as error:
                raise UnknownFormat(error.name, (*error.known, *PAGES)) from None
            if store.get(headish).meta.is_cut_off:
                say(f"The reply at the end is incomplete; {DROPPED if 'stop' in drop else KEPT}.")
    write(text)
