"""Shell completion of names, handles, formats, providers, roles and spaces.

A parameter type here accepts any text, as click's string type does, and adds suggestions. If the database cannot be
read, it suggests nothing: an error message would end up in the person's command line. It also leaves out every name
that a shell would not read as one plain word: bash inserts them unquoted, and names also come from other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import environ
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from headish_cli.configuration import KEYS, config_path, read_config
from headish_cli.options import ROLES, GlobalOptions
from headish_cli.printing.output import Told

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from headish import Store

OFFERED = 50
"""The most names, and the most handles, that are offered."""
SPECIAL = frozenset(" !\"#$&'()*,;<>?[\\]^`{|}~")
"""Characters that a shell, or the script that click writes for it, does not take literally."""
Offer = Callable[[click.Context, str], "Iterable[CompletionItem]"]


class Completed(click.types.StringParamType):
    """A string parameter with suggestions from ``offer``."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            return [item for item in self._offer(ctx, incomplete) if is_a_word(item.value)]
        except Exception:  # of any kind: the person is in the middle of a line, where no message may appear
            return []


def is_a_word(value: str) -> bool:
    """Whether every shell reads ``value`` as one word without quotes."""
    return value.isprintable() and SPECIAL.isdisjoint(value)


def settings_of(ctx: click.Context) -> GlobalOptions:
    """The settings so far: options after the command win over those before it, these over the environment, and that
    over the configuration file. A file that cannot be read counts as empty.
    """
    chosen: dict[str, Any] = {}
    at: click.Context | None = ctx
    while at is not None:
        # The right side of | wins: what an inner command already set is kept.
        chosen = {name: at.params[name] for name in ("db", "space") if _is_given(at, name)} | chosen
        at = at.parent
    for name in ("db", "space"):
        if not chosen.get(name):
            chosen[name] = environ.get(KEYS[name].variable) or _configured().get(name)
    return GlobalOptions(chosen["db"], chosen["space"] or "default", read_only=True)


def _is_given(ctx: click.Context, name: str) -> bool:
    """Whether the person gave an option: a default must not win over the configuration file."""
    return ctx.params.get(name) is not None and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def _configured() -> dict[str, str]:
    try:
        return read_config(config_path())
    except (Told, OSError):
        return {}


def _from_store(read: Callable[[Store, str], Iterable[CompletionItem]]) -> Offer:
    def offer(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        with settings_of(ctx).open() as store:
            return list(read(store, incomplete))

    return offer


def _headishes(store: Store, incomplete: str) -> Iterable[CompletionItem]:
    """Bookmarks, the last moved first, then the handles of the newest heads; each with the first words of its turn."""
    yield from _names(store, incomplete)
    # Handles are written in these letters alone, so nothing can match and no turn need be read.
    if incomplete and not set(incomplete) <= set("klmnopqrstuvwxyz"):
        return
    heads = store.heads(limit=OFFERED)
    handles = store.abbreviate([turn.id for turn in heads])
    for turn in heads:
        if handles[turn.id].startswith(incomplete):
            yield _item(handles[turn.id], help=_words(store, turn.id))


def _names(store: Store, incomplete: str) -> Iterable[CompletionItem]:
    for each in store.bookmarks.list(prefix=incomplete, by="recency", limit=OFFERED):
        yield _item(each.name, help=_words(store, each.turn))


def _pointers(store: Store, incomplete: str) -> Iterable[CompletionItem]:
    for each in store.pointers.list():
        if each.name.startswith(incomplete):
            yield _item(each.name, help=str(each.pointer))


def _spaces(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    with settings_of(ctx).open_database() as database:
        return matching(database.spaces.list(limit=1000), incomplete)


def _words(store: Store, turn_id: str) -> str:
    from headish_cli.printing.output import one_line

    return one_line(" ".join(store.text(turn_id).split()), 40)


PAGES = ("html", "markdown", "text")


def _formats(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    from headish.renderings.emission import TARGETS

    # Only `export` also writes data sets and pages; the transcript formats are the same for all commands.
    if ctx.info_name != "export":
        return matching(TARGETS, incomplete)
    from headish.content.forms.table import FORMS
    from headish.providers.registry import PROVIDERS
    from headish.transcripts.datasets.rows import ROWS

    transcripts = [each for each in TARGETS if each not in PROVIDERS]
    return matching(dict.fromkeys((*transcripts, *FORMS, *ROWS, *PAGES)), incomplete)


def _providers(_: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    from headish.providers.registry import PROVIDERS

    return matching(PROVIDERS, incomplete)


def matching(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """The words that begin with ``incomplete``, as suggestions."""
    return [_item(word) for word in words if word.startswith(incomplete)]


def _item(word: str, help: str | None = None) -> CompletionItem:
    from click.shell_completion import CompletionItem  # late: only a shell's completion needs it

    return CompletionItem(word, help=help)


def _names_of_group(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Complete NAME: a pointer below ``ptr``, a space below ``spaces``, a bookmark elsewhere."""
    group = ctx.parent.info_name if ctx.parent is not None else None
    offer = {"ptr": _from_store(_pointers), "spaces": _spaces}.get(group or "", _from_store(_names))
    return offer(ctx, incomplete)


SPACE = Completed(_spaces)
_HEADISH, _NAME = Completed(_from_store(_headishes)), Completed(_from_store(_names))
_BY_METAVAR = {
    "HEADISH": _HEADISH,
    "PTR": Completed(_from_store(_pointers)),
    "SPACE": SPACE,
    "FORMAT": Completed(_formats),
    "PROVIDER": Completed(_providers),
}
_BY_NAME = {
    **dict.fromkeys(("headish", "continues", "first", "last", "expect"), _HEADISH),
    **dict.fromkeys(("bookmark", "old"), _NAME),
    "space": SPACE,
    "role": Completed(lambda _, incomplete: matching(ROLES, incomplete)),
}


def completed_type(parameter: click.Parameter) -> click.ParamType[Any]:
    """The type of a parameter, with completion if its metavar or its name is in the tables here.

    A metavar or name means the same in every command.
    """
    # A choice, a path or a number completes and checks itself.
    if type(parameter.type) is not click.types.StringParamType:
        return parameter.type
    if isinstance(parameter, click.Argument) and parameter.name == "name":
        return Completed(_names_of_group)
    found = _BY_METAVAR.get(parameter.metavar or "") or _BY_NAME.get(parameter.name or "")
    return found or parameter.type
