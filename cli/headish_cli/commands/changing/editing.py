"""``edit`` and ``siblings``: replace what a turn says by a new version, and list its versions."""

from __future__ import annotations

import sys
import tempfile
from typing import TYPE_CHECKING, NamedTuple

import click

from headish.errors import HeadishError
from headish.values.times import local_time
from headish_cli.options import (
    GlobalOptions,
    expect_option,
    headish_argument,
    read_stdin,
    settings_and_json,
    versions_option,
)
from headish_cli.printing.output import (
    Told,
    content_of,
    is_narrow,
    lay_out,
    marks,
    one_line,
    print_json,
    reply_mark,
    say,
    sentence,
)
from headish_cli.printing.said import who, words
from headish_cli.printing.telling import timed_record, turn_record, version_record

if TYPE_CHECKING:
    from headish import Store, Turn
    from headish.history.edits.edit import Edited

UNCHANGED = "Nothing was edited: the text is unchanged."
EMPTY = "Nothing was edited: the text is empty."


class Edit(NamedTuple):
    """The arguments of the command, without the text."""

    headish: str
    keep: bool
    json_blocks: bool
    expect: str | None


@click.command("edit")
@click.argument("headish")
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("--keep", is_flag=True, help="Repeat the rest of the branch after the edited turn.")
@click.option("--json-blocks", is_flag=True, help="The text is JSON: a list of all content blocks of the turn.")
@expect_option
@settings_and_json
def edit_command(settings: GlobalOptions, headish: str, text: str | None, as_json: bool, **options: object) -> None:
    """Say something else in the place of a turn, and print the id of the new one.

    The old turn stays, beside the new one. NAME and NAME~n edit a turn of the bookmark's branch and move
    the bookmark there; an ID moves nothing. Without TEXT an editor opens at a terminal ($VISUAL, $EDITOR); else the
    text is read from standard input, as with -. TEXT takes the place of the turn's text: its calls, results, documents
    and reasoning stay.
    """
    asked = Edit(headish, **options)  # type: ignore[arg-type]
    with settings.open() as store:
        if text is None and _may_edit():
            edited = _edit_by_hand(store, asked)
        else:
            edited = _edit(store, asked, _given(store, headish, text))
        _tell(store, edited, as_json)


@click.command("siblings")
@headish_argument
@versions_option
@settings_and_json
def siblings_command(settings: GlobalOptions, headish: str, versions: bool, as_json: bool) -> None:
    """List the versions of a turn: what else was said in its place, in the order of storing. * is the turn itself."""
    with settings.open() as store:
        siblings = store.siblings(headish, versions=versions)
        if as_json:
            count = len(siblings.turns)
            for index, turn in enumerate(siblings.turns):
                record = timed_record(turn) | version_record((index + 1, count))
                print_json({**record, "current": index == siblings.current})
            return
        short = store.abbreviate(turn.id for turn in siblings.turns)
        names = store.bookmarks.at(turn.id for turn in siblings.turns)
        for index, turn in enumerate(siblings.turns):
            star = "*" if index == siblings.current else " "
            before = f"{star} {index + 1}/{len(siblings.turns)} {click.style(short[turn.id], fg='yellow')} "
            click.echo(_line(store, turn, before, marks(names.get(turn.id, []))))


def _line(store: Store, turn: Turn, before: str, behind: str) -> str:
    time, model = "" if is_narrow() else f"{local_time(turn.said_at)} ", reply_mark(turn.meta)
    text = words(turn.meta, content_of(store, turn.id))
    return lay_out([before, time, f"{who(turn.meta)} "], text, [model, behind], spare=[model])


def _may_edit() -> bool:
    """Whether standard input and output are a terminal, as an editor needs."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _given(store: Store, headish: str, text: str | None) -> str | bytes:
    """The new content, from the command line or standard input. For a document, the bytes; otherwise text."""
    content: str | bytes
    if text is None or text == "-":
        content = read_stdin()
        if store.get(headish).meta.type is None:
            content = _decode(content, "standard input")
    else:
        content = text
    if not content:
        raise Told(EMPTY)
    return content


def _edit_by_hand(store: Store, asked: Edit) -> Edited:
    """Edit in an editor. If the text cannot be stored, keep it in a temporary file and report where."""
    if store.read_only:
        raise Told("The database is open read-only: nothing can be edited.")
    turn = store.get(asked.headish)
    name = _name_of(asked.headish)
    tip = None if name is None else store.bookmarks.get(name)
    before = _editable(store, turn, asked.json_blocks)
    after = _open_editor(before, ".json" if asked.json_blocks else ".md")
    # Somebody may have moved the bookmark while the editor was open: NAME~n would name another turn by then. So require
    # that the bookmark has not moved, or edit by the id of the turn that was shown.
    pinned = asked._replace(expect=asked.expect or tip) if tip else asked._replace(headish=turn.id)
    try:
        return _edit(store, pinned, after)
    except HeadishError as error:
        with tempfile.NamedTemporaryFile("w", prefix="headish-edit-", delete=False, encoding="utf-8") as file:
            file.write(after)
        raise Told(f"{sentence(error)}; your text is in {file.name}") from None


def _name_of(headish: str) -> str | None:
    """The bookmark that a headish begins with; None if there is none, or if it asks for the bookmark's past."""
    from headish.values.grammar import NEWEST, parse_headish

    parsed = parse_headish(headish)
    return parsed.name if parsed.name != NEWEST and parsed.past is None else None


def _editable(store: Store, turn: Turn, json_blocks: bool) -> str:
    """The text of a turn that a person edits. Raises: InvalidArgument if it is not one text."""
    from headish.history.edits.drafts import text_blocks

    if turn.meta.type is not None:
        return _decode(store.payload(turn.id), f"the document {turn.meta.document_name or turn.id}")
    if json_blocks:
        import msgspec

        return msgspec.json.format(store.payload(turn.id), indent=2).decode()
    # Called for its refusal: better now than after the person has written.
    text_blocks(store.blocks(turn.id), turn.id)
    return store.text(turn.id)


def _open_editor(before: str, extension: str) -> str:
    """Open an editor and return the saved text. Raises: Told if it is unchanged, empty or not UTF-8."""
    try:
        after = click.edit(before, extension=extension)
    except UnicodeDecodeError as error:
        raise Told(f"Nothing was edited: what the editor saved is not UTF-8 ({error.reason}).") from None
    if after is None:
        raise Told(UNCHANGED)
    if not before.endswith("\n"):
        after = after.rstrip("\n")  # editors add an end to the last line
    if after == before.replace("\r\n", "\n"):  # click returns all line ends as \n
        raise Told(UNCHANGED)
    if not after.strip():
        raise Told(EMPTY)
    # A text whose line ends were all CRLF gets them back; a mixed one cannot be told apart any more.
    return after.replace("\n", "\r\n") if "\r\n" in before and "\n" not in before.replace("\r\n", "") else after


def _edit(store: Store, asked: Edit, content: str | bytes) -> Edited:
    return store.edit(asked.headish, content, keep=asked.keep, json=asked.json_blocks, expect=asked.expect)


def _decode(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Told(f"{what} is not UTF-8: an editor cannot open it; give a document's new bytes with -") from None


def _tell(store: Store, edited: Edited, as_json: bool) -> None:
    turn = edited.turn
    version = store.siblings(turn.id).version
    if as_json:
        record = {"turn": turn_record(turn) | version_record(version), "bookmark": edited.bookmark}
        print_json({**record, "tip": edited.tip, "kept": edited.kept})
        return
    click.echo(turn.id)
    rest = f", behind it {edited.kept} of the branch" if edited.kept else ""
    say(f"Version {version} of the turn is stored{rest}.")
    if edited.bookmark is None:
        say(f"No bookmark moved. The new branch ends at {edited.tip}." if edited.kept else "No bookmark moved.")
        return
    name = one_line(edited.bookmark, None)
    say(f"{name} names {edited.tip} now; 'headish bookmark set {name} {name}@{{1}}' takes that back.")
