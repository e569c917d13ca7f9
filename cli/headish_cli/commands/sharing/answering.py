"""``serve-stdio``: answer another machine that has this history as a live remote."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler

import click

from headish.errors import HeadishError
from headish_cli.options import GlobalOptions, pass_settings
from headish_cli.printing.output import Told

LOG_LIMIT_BYTES = 1024 * 1024
"""A log that would grow beyond this is renamed, and a new one begun; only one old log is kept."""


@click.command("serve-stdio")
@click.option(
    "--names", metavar="PATTERN", default="*", show_default=True, help="Let the caller move these bookmarks alone."
)
@click.option("--trust", is_flag=True, help="The caller is a machine of yours: its options and its erasures act here.")
@click.option("--create", is_flag=True, help="Make the database, and the space, where they are missing.")
@pass_settings
def serve_stdio_command(settings: GlobalOptions, names: str, trust: bool, create: bool) -> None:
    """Answer another machine that syncs with this history, on standard input and output.

    'headish sync' over ssh runs this on the other machine. To allow a key nothing else, name it in authorized_keys
    there: command="headish --space team --read-only serve-stdio",restrict ssh-ed25519 AAAA…
    """
    try:
        with settings.open(create=create and not settings.read_only) as store:
            store.remotes.answer(sys.stdin.fileno(), sys.stdout.fileno(), names=names, trust=trust)
    # These are reported as by every command; any other error is a defect, whose text may hold what is stored.
    except (HeadishError, OSError, click.ClickException):
        raise
    except Exception as error:
        raise Told(f"serve-stdio failed ({type(error).__name__}); {_log(error)}") from None


def _log(error: Exception) -> str:
    """Write a traceback to this machine's log, as the caller may be a stranger. Return what to tell the caller."""
    from platformdirs import user_log_path

    path = user_log_path("headish", appauthor=False) / "serve-stdio.log"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = RotatingFileHandler(path, maxBytes=LOG_LIMIT_BYTES, backupCount=1, encoding="utf-8", errors="replace")
    except OSError:
        return "its log cannot be written there"
    log.setFormatter(logging.Formatter("%(asctime)s %(process)d %(message)s"))
    exc_info = type(error), error, error.__traceback__
    log.handle(logging.LogRecord("headish", logging.ERROR, __file__, 0, "serve-stdio failed", None, exc_info))
    log.close()
    return "its log is serve-stdio.log on that machine"
