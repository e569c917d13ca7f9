"""``title``, ``tag``, ``pin`` and ``archive``: label a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish_cli.options import GlobalOptions, headish_argument, settings_and_json
from headish_cli.printing.output import one_line, print_json, say

if TYPE_CHECKING:
    from headish import Store
    from headish.values.results.conversations import Conversation


@click.command("title")
@click.argument("headish")
@click.argument("text", required=False)
@click.option("--ask", metavar="PTR", help="Ask the model of this provider pointer for a title, from the last turns.")
@settings_and_json
def title_command(settings: GlobalOptions, headish: str, text: str | None, ask: str | None, as_json: bool) -> None:
    """Show what the conversation of a HEADISH is called, or call it TEXT; an empty TEXT takes the title away."""
    if ask is not None and text is not None:
        raise click.UsageError("--ask finds a title: leave TEXT out")
    with settings.open() as store:
        conversations = store.conversations
        if ask is not None:
            text = store.ask_title(headish, ptr=ask)
            # With --json, stdout holds JSON alone.
            click.echo(one_line(text, None), err=as_json)
        text = text and text.strip()  # lists would show a title of blanks in place of the first words
        conversation = conversations.get(headish) if text is None else conversations.set(headish, title=text)
        called = _called(store, conversation)
    title = one_line(conversation.record.title, None)
    if as_json:
        _print(conversation)
    elif text is None and title:
        click.echo(title)
    else:
        say(f"{called} is called '{title}'." if title else f"{called} has no title: lists show its first words.")


@click.command("tag")
@click.argument("headish")
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--remove", "remove", is_flag=True, help="Take these tags away.")
@settings_and_json
def tag_command(settings: GlobalOptions, headish: str, tags: tuple[str, ...], remove: bool, as_json: bool) -> None:
    """Show the tags of the conversation of a HEADISH, one per line, or add some."""
    if remove and not tags:
        raise click.UsageError("say which tags to take away: --remove TAG...")
    with settings.open() as store:
        conversation = store.conversations.get(headish)
        if tags:
            before = conversation.record.tags
            after = [tag for tag in before if tag not in tags] if remove else [*before, *tags]
            # The new tags replace the old ones: without `expect`, a tag that was added meanwhile would be lost.
            conversation = store.conversations.set(headish, tags=after, expect=_expected(conversation))
        called = _called(store, conversation)
    lines = [one_line(tag, None) for tag in conversation.record.tags]
    if as_json:
        _print(conversation)
    elif tags or not lines:
        say(f"{called} {'is tagged ' + ', '.join(lines) if lines else 'has no tags'}.")
    else:
        for tag in lines:
            click.echo(tag)


@click.command("pin")
@headish_argument
@click.option("--undo", is_flag=True, help="Unpin it.")
@settings_and_json
def pin_command(settings: GlobalOptions, headish: str, undo: bool, as_json: bool) -> None:
    """Pin the conversation of a HEADISH: 'headish list --pinned' shows only those."""
    _set(settings, headish, as_json, "is pinned no longer" if undo else "is pinned", pinned=not undo)


@click.command("archive")
@headish_argument
@click.option("--undo", is_flag=True, help="Show it in lists again.")
@settings_and_json
def archive_command(settings: GlobalOptions, headish: str, undo: bool, as_json: bool) -> None:
    """Archive the conversation of a HEADISH: lists leave it out, and 'headish list --archived' shows it."""
    words = "is shown by lists again" if undo else "is archived: 'headish list --archived' shows it"
    _set(settings, headish, as_json, words, archived=not undo)


def _set(settings: GlobalOptions, headish: str, as_json: bool, words: str, **changes: Any) -> None:
    with settings.open() as store:
        conversation = store.conversations.set(headish, **changes)
        called = _called(store, conversation)
    if as_json:
        _print(conversation)
    else:
        say(f"{called} {words}.")


def _called(store: Store, found: Conversation) -> str:
    """Name a conversation in a message: by its bookmark, else by the handle of its first turn."""
    if found.name is not None:
        return one_line(found.name, 60)
    first = found.turn if found.first is None else found.first
    return f"The conversation of {store.abbreviate([first])[first]}"


def _expected(found: Conversation) -> Any:
    from headish import ABSENT

    return ABSENT if found.revision is None else found.revision


def _print(found: Conversation) -> None:
    record = found.record
    facts = {"title": record.title, "tags": list(record.tags), "archived": record.archived, "pinned": record.pinned}
    print_json({"name": found.name, "first": found.first, **facts, "revision": found.revision})
