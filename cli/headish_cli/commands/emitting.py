"""``export``: a thread as a transcript, or as a page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish.errors import UnknownFormat
from headish_cli.commands.keeping.exporting import Notes, export_many, reporting
from headish_cli.completing import PAGES
from headish_cli.options import PLACE, GlobalOptions, pass_settings, refuse_without
from headish_cli.printing.output import say, write

if TYPE_CHECKING:
    from headish import Store

KEPT = "its message has no end, and 'headish import --partial' reads it"
DROPPED = "the transcript does not say so"


@click.command("export")
@click.argument("headish", required=False)
@click.option("--to", "target", default="openchatml", show_default=True, metavar="FORMAT",
              help="v0.1, 2.0, 2.2 (openchatml), harmony, rwkv; as JSON chat, responses, anthropic, gemini, "
                   "cohere; as a row of a data set openai-finetune, hf, sharegpt; for people html, markdown, "
                   "text.")  # fmt: skip
@click.option(
    "--all", "takes_all", is_flag=True, help="Every conversation, the thread of each tip, as JSON Lines or with -o."
)
@click.option("-o", "--output", "folder", type=PLACE, metavar="FOLDER",
              help="Write a file for each conversation into FOLDER.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="With -o, replace files that hold something else.")
@click.option("--drop", multiple=True, metavar="WHAT", help="Give up, by name, what the format cannot carry.")
@click.option("--as", "viewer", type=click.Choice(["user"]), help="Only what an end user may see.")
@click.option("--for-completion", is_flag=True, help="As a prompt: old reasoning dropped, the next answer open.")
@click.option("--policy", type=click.Choice(["ocm", "harmony"]), default="ocm", show_default=True,
              help="Which old reasoning --for-completion drops.")  # fmt: skip
@click.option("--for-training", is_flag=True,
              help="In a transcript, end a final answer at the end with <|return|>. In JSON, leave out what a trainer "
                   "must not see (hidden, reasoning, keys, ids of providers), and say what.")  # fmt: skip
@click.option("--with-reasoning", is_flag=True, help="With --for-training, keep the reasoning.")
@click.option("--report", type=PLACE, metavar="FILE",
              help="Write a line for each thing that --for-training left out.")  # fmt: skip
@click.option("--relaxed", is_flag=True, help="Write bodies that break their constraint, and missing channels.")
@click.option("--tight", is_flag=True, help="v0.1: no line break before <|im_end|> where headish writes a message.")
@click.option("--bos", default="[BOS]", help="v0.1: the base model's token for the beginning.")
@click.option("--eos", default="[EOS]", help="v0.1: the base model's token for the end.")
@click.option("--branches", is_flag=True,
              help="In a page for people, show the other branches and the bookmarks too. As JSON, each branch is a "
                   "line.")  # fmt: skip
@click.option("--raw", is_flag=True, help="In a transcript, every turn as it was stored, whatever overlays say.")
@click.option("--title", metavar="TEXT", help="The title of a page for people, in place of the conversation's.")
@click.option("--debug", is_flag=True, help="In a page for people, show hidden messages too.")
@pass_settings
def export_command(
    settings: GlobalOptions,
    headish: str | None,
    target: str,
    takes_all: bool,
    folder: str | None,
    overwrite: bool,
    drop: tuple[str, ...],
    viewer: str | None,
    for_completion: bool,
    for_training: bool,
    with_reasoning: bool,
    report: str | None,
    relaxed: bool,
    branches: bool,
    debug: bool,
    raw: bool,
    title: str | None,
    **spelling: Any,
) -> None:
    """Print the thread that leads to a HEADISH as a transcript, or as a page for people.

    A thread that was imported from this format comes back byte for byte. What the format cannot carry is refused,
    unless --drop gives it up. A page holds only what an end user may see, and only this thread: --branches adds every
    other branch of its conversation. As JSON, --branches prints a line for each branch.

    --all prints every conversation as JSON Lines, and -o writes a file for each. One that the format cannot carry is
    reported, and the others follow.
    """
    from headish.content.forms.table import FORMS
    from headish.transcripts.datasets.rows import ROWS

    # The options are checked here, before the database is opened: these combinations are wrong whatever it holds.
    rows = {*FORMS, *ROWS}
    if branches and (viewer is not None or (target not in PAGES and target not in rows)):
        raise click.UsageError(
            f"--branches is for {', '.join(PAGES)} and for JSON, without --as: all else is the thread alone"
        )
    if debug and (viewer is not None or target not in PAGES):
        raise click.UsageError(f"--debug shows hidden messages in {', '.join(PAGES)}; other formats carry them anyway")
    if target in PAGES and (drop or for_completion or for_training):
        raise click.UsageError(f"--drop, --for-completion and --for-training are for transcripts, not for {target}")
    if not for_completion:
        refuse_without("--for-completion", "policy")
    if target in PAGES:
        refuse_without("a transcript", "relaxed", "bos", "eos")
    if target != "v0.1":
        refuse_without("--to v0.1", "tight")
    if raw and target in PAGES:
        raise click.UsageError(f"--raw is for transcripts, not for {target}: --debug shows what is hidden")
    if title is not None and target not in PAGES:
        raise click.UsageError(f"--title is for {', '.join(PAGES)}: a transcript has none")
    if with_reasoning and not for_training:
        raise click.UsageError(
            "--with-reasoning is for --for-training: elsewhere reasoning stays, or --drop gives it up"
        )
    if report is not None and not for_training:
        raise click.UsageError("--report is for --for-training: nothing else leaves things out")
    if overwrite and folder is None:
        raise click.UsageError("--overwrite is for the files of -o FOLDER")
    if takes_all and headish is not None:
        raise click.UsageError("--all takes every conversation: leave the HEADISH out")
    options: dict[str, Any] = (
        {"branches": branches, "debug": debug, **({} if title is None else {"title": title})}
        if target in PAGES
        else {
            "drop": drop, "as_user": viewer == "user", "for_completion": for_completion, "for_training": for_training,
            "with_reasoning": with_reasoning, "strict": not relaxed, "raw": raw, **spelling,
            **({"branches": True} if branches else {}),
        }
    )  # fmt: skip
    with settings.open() as store, reporting(report) as notes:
        if takes_all or folder is not None or (branches and target not in PAGES):
            headishes = None if takes_all else [headish or "@"]
            export_many(store, headishes, target, folder, overwrite, notes, options)
        else:
            _print_one(store, headish or "@", target, notes, options)


def _print_one(store: Store, headish: str, target: str, notes: Notes, shown: dict[str, Any]) -> None:
    if target in PAGES:
        for piece in store.render_pieces(headish, target, **shown):
            write(piece)
        return
    try:
        text = store.export(headish, target, told=lambda note: notes.add(headish, note), **shown)
    except UnknownFormat as error:
        # The library makes pages with another verb, so its error does not list them.
        raise UnknownFormat(error.name, (*error.known, *PAGES)) from None
    if store.get(headish).meta.is_cut_off and not notes.counts:
        say(f"The reply at the end is incomplete; {DROPPED if 'stop' in shown['drop'] else KEPT}.")
    write(text)
    notes.tell()
