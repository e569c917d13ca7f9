"""``serve``: run the page, the API and the gateway of a database until Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headish.errors import FileTaken, HeadishError, InvalidAddress, InvalidArgument, InvalidPrices
from headish_cli.commands.serving.running import print_variables
from headish_cli.configuration import SYNC_WORDS, read_timetable
from headish_cli.options import PLACE, GlobalOptions, pass_settings
from headish_cli.printing.output import Misspelled, Told, counted, one_line, say, sentence

if TYPE_CHECKING:
    from headish.serve.files.writing import WrittenPages
    from headish.serve.processes.settings import ServeSettings

PORTS = click.IntRange(0, 65535)


@click.command("serve")
@click.option("--port", type=PORTS, default=8321, show_default=True,
              help="The port of the page and the API; 0 takes a free one.")  # fmt: skip
@click.option("--gateway-port", type=PORTS, default=8322, show_default=True, help="The port of the gateway.")
@click.option("--no-gateway", is_flag=True, help="Pass no calls: the page and the API alone.")
@click.option("--upstream", "upstreams", multiple=True, metavar="API=URL",
              help="Pass calls of anthropic, openai, gemini or ollama to another address.")  # fmt: skip
@click.option("--require-record", is_flag=True, help="Refuse calls that cannot be recorded, with status 503.")
@click.option("--allow-origin", "allow_origins", multiple=True, metavar="ORIGIN",
              help="Pass what a page or an app of this origin sends.")  # fmt: skip
@click.option("--env", "tool", metavar="TOOL",
              help="Print how to start TOOL so that it talks through the running gateway; serve nothing.")  # fmt: skip
@click.option("--export", "folder", type=PLACE, metavar="FOLDER",
              help="Write the pages as files into FOLDER, to be read without a server; serve nothing.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="With --export, replace an earlier export.")
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="The address to listen on; any but loopback needs --behind-proxy.")  # fmt: skip
@click.option("--behind-proxy", multiple=True, metavar="CIDR", help="The network of the proxy in front, which has TLS.")
@click.option("--public-url", "public_urls", multiple=True, metavar="URL",
              help="Under which address a proxy or tunnel offers it.")  # fmt: skip
@click.option("--user-header", metavar="NAME", help="The header in which the proxy names the user.")
@click.option("--user-space", default="user/{user}", show_default=True, metavar="TEMPLATE", help="The space of a user.")
@pass_settings
def serve_command(
    settings: GlobalOptions,
    upstreams: tuple[str, ...],
    open_page: bool,
    tool: str | None,
    folder: str | None,
    overwrite: bool,
    **given: Any,
) -> None:
    """Serve a page, an API, and a gateway that records calls.

    A program whose base URL you can set talks to its own provider through the gateway, unchanged:
    http://127.0.0.1:8322/anthropic, /openai/v1, /gemini, /ollama, or /to/POINTER. Its conversations appear in
    'headish list'. Ctrl-C ends the server: calls that have begun get 30 seconds, and what passed is stored.

    --export writes what the page shows as files: all conversations of the space, with system prompts, reasoning,
    tool calls, hidden turns and, where you have a table of prices, costs. They need no server and no script.
    """
    if tool is not None:
        print_variables(settings, tool)
        return
    if overwrite and folder is None:
        raise click.UsageError("--overwrite goes with --export")
    try:
        from headish.serve.files.writing import write_pages
        from headish.serve.processes.settings import ServeSettings
        from headish.serve.processes.supervising import run_server
        from headish.serve.sync.timetable import SyncEvery
    except ImportError as error:
        # Any other missing module is not of the extra: the advice to install it would mislead.
        if error.name not in ("aiohttp", "h11", "jinja2", "multidict", "starlette", "uvicorn", "yarl"):
            raise
        raise Told("serving needs the extra: pip install 'headish[serve]'") from None
    if folder is not None:
        export_pages(settings, partial(write_pages, overwrite=overwrite, prices=settings.read_prices()), folder)
        return
    serving = ServeSettings(
        target=settings.target,
        space=settings.space,
        read_only=settings.read_only,
        upstreams=dict(map(_split, upstreams)),
        prices=settings.prices,
        sync=tuple(SyncEvery(name, seconds) for name, seconds in _timetable(settings).items()),
        **given,
    )
    check(serving)
    if not settings.read_only:
        settings.open(create=True).close()  # makes or upgrades the database before anything listens
    with _opening(Path(serving.folder).absolute()) as opened:
        done = run_server(serving, say=say, opened=opened if open_page else None)
    if not done:
        raise Told("a process of the server could not start; it says above why")


def check(serving: ServeSettings) -> None:
    """Refuse settings that contradict each other, before a database is made. Raises: Misspelled."""
    try:
        serving.check()
    except (InvalidAddress, InvalidArgument, InvalidPrices) as error:
        raise Misspelled(sentence(error)) from None


def _timetable(settings: GlobalOptions) -> dict[str, float]:
    """The remotes to sync with, and the seconds between two syncs. Raises: Misspelled."""
    if not settings.sync:
        return {}
    timetable = read_timetable(settings.sync)
    if not timetable:
        raise Misspelled(f"{settings.sync[:80]!r} (HEADISH_SYNC, or 'sync' in the configuration) is not {SYNC_WORDS}")
    return timetable


def export_pages(
    settings: GlobalOptions, write_pages: Callable[..., Coroutine[Any, Any, WrittenPages]], folder: str
) -> None:
    """Write the pages into a folder. Report each conversation that is refused, and go on.

    Raises: Told at the end if any was refused, or at once if a file of another origin is in the way.
    """
    import asyncio

    def told(subject: str, error: HeadishError) -> None:
        say(f"{one_line(subject, None)}: {sentence(error)}")

    try:
        done = asyncio.run(write_pages(settings.target, settings.space, folder, told=told))
    except FileTaken as error:
        raise Told(f"{error}; --overwrite replaces what an earlier export wrote") from None
    same = f", {done.unchanged:,} unchanged" if done.unchanged else ""
    index = one_line(f"{done.folder}/index.html", None)
    say(f"{counted(done.files, 'file')} written{same}, for {counted(done.conversations, 'conversation')}: open {index}")
    if done.refused:
        raise Told(f"{counted(done.refused, 'conversation')} could not be exported")


def _split(pair: str) -> tuple[str, str]:
    api, equals, url = pair.partition("=")
    if not equals:
        raise click.BadParameter(f"{pair!r} is not API=URL", param_hint="--upstream")
    return api, url


@contextmanager
def _opening(folder: Path) -> Iterator[Callable[[str], None]]:
    """Yield a function that opens a URL in a browser, by way of a file that redirects to it.

    The URL holds a secret, and everybody on the machine can read the arguments of a browser's process. Only its owner
    can read the file. The file is removed when the server ends.
    """
    page = folder / "open.html"

    def open_page(url: str) -> None:
        import webbrowser

        page.unlink(missing_ok=True)
        # "x": never through a file or a link that somebody else put there.
        with open(page, "x", encoding="utf-8", opener=partial(os.open, mode=0o600)) as file:
            file.write(f'<!doctype html><meta charset=utf-8><meta http-equiv=refresh content="0;url={escape(url)}">')
        webbrowser.open(page.as_uri())

    try:
        yield open_page
    finally:
        page.unlink(missing_ok=True)
