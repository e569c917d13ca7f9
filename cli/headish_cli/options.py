"""Options that the commands share, and how they find and open the store."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource

from headish.errors import InvalidArgument, InvalidContent, TooLarge, UnknownDatabase, UnknownSpace
from headish.values.caches import TTLS
from headish.values.checks.controls import escape_controls
from headish.values.limits import PAYLOAD_LIMIT_BYTES, TRANSCRIPT_LIMIT_BYTES
from headish.values.times import parse_time
from headish_cli import uncollected

if TYPE_CHECKING:
    from headish import Database, Store
    from headish.content.prices import Prices
    from headish.database.backend import Backend

F = TypeVar("F", bound=Callable[..., Any])
PLACE = click.Path(readable=False)
"""A path that a person names. Only ``headish.values.checks.files`` opens a parameter of this type."""
INPUT = click.Path(readable=False, allow_dash=True)
"""Such a path, or ``-`` for standard input."""
ROLES = ("system", "developer", "user", "assistant", "tool")
INTERRUPTED, CLOSED_PIPE = 130, 141
"""Exit codes of Ctrl-C and of a closed pipe: 128 plus the number of SIGINT or SIGPIPE, as shells report them."""


class GlobalOptions:
    """The options before the command.

    ``ptr`` is the pointer for threads that name none, ``prices`` the table of prices, ``sync`` the remotes that a
    server syncs with. Each comes from its variable (``HEADISH_PTR`` and so on), else from the configuration file.
    """

    # Not a NamedTuple: creating the class would cost every command as much as importing three modules.
    def __init__(
        self, db: str | None, space: str, read_only: bool = False, author: str | None = None,
        at_least: str | None = None, no_pager: bool = False, ptr: str | None = None, prices: str | None = None,
        sync: str | None = None, isolation: Literal["required"] | None = None,
    ) -> None:  # fmt: skip
        self.db, self.space, self.read_only, self.author = db, space, read_only, author
        self.at_least, self.no_pager = at_least, no_pager
        self.ptr, self.prices, self.sync = ptr, prices, sync
        self.isolation: Literal["required"] | None = isolation

    def replaced(self, **changed: Any) -> GlobalOptions:
        """A copy with some values changed."""
        return GlobalOptions(**{**vars(self), **changed})

    @property
    def target(self) -> str:
        """``--db``, else ``HEADISH_DB``, else a file in the platform's folder for users' data."""
        if self.db:
            return self.db
        from platformdirs import user_data_path

        return str(user_data_path("headish") / "headish.db")

    def open(self, *, create: bool = False) -> Store:
        """Open the store. ``create`` is for commands that store something: it makes a missing database or space."""
        store = self._open(create)
        if self.at_least is None:
            return store
        # The store that waits shares the connections of this one, and does not close them.
        click.get_current_context().call_on_close(store.close)
        return store.at_least(self.at_least)

    def _open(self, create: bool) -> Store:
        """Open the store. Report a space that is created on the way, since its name may be a slip."""
        with uncollected():
            from headish import Store
        open_store = partial(Store.open, self.target, space=self.space, read_only=self.read_only, author=self.author,
                         isolation=self.isolation)  # fmt: skip
        # Nobody types the default name, so it needs no report.
        if not create or self.space == "default":
            return open_store(create=create)
        try:
            return open_store(create=False)
        except UnknownSpace:
            click.echo(f"There was no space {self.space}: it is made now.", err=True)
        except UnknownDatabase:
            pass
        return open_store(create=True)

    def is_made(self) -> bool:
        """Whether the database and the space are there."""
        try:
            self.open().close()
        except (UnknownDatabase, UnknownSpace):
            return False
        return True

    def open_database(self, *, create: bool = False) -> Database:
        """Open the database, for commands that look at all of its spaces."""
        from headish import Database

        return Database.open(self.target, create=create, read_only=self.read_only, isolation=self.isolation)

    def read_prices(self) -> Prices | None:
        """Read the table of prices; None if the user has none. Raises: InvalidPrices."""
        if self.prices is None:
            return None
        from headish.content.prices import read_prices

        return read_prices(self.prices)

    @contextmanager
    def connect(self, *, create: bool = False) -> Iterator[Backend]:
        """Connect to the database below the store, for commands that look at its schema, whatever its revision."""
        from headish.database.dialects import connect

        backend = connect(self.target, create=create, read_only=self.read_only)
        try:
            yield backend
        finally:
            backend.close()


pass_settings: Callable[[F], F] = click.make_pass_decorator(GlobalOptions)  # type: ignore[assignment]


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator; help lists them in this order."""

    def decorate(command: F) -> F:
        # Decorators apply from the last to the first, and click lists options in the order of the source.
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


selection_options = together(
    click.option("--since", metavar="TIME",
                 help="Show only what was said from TIME on: a date, yesterday, '2 hours ago', RFC 3339."),
    click.option("--until", metavar="TIME", help="Show only what was said before TIME; a day alone is included."),
    click.option("--role", type=click.Choice(ROLES), help="Show only turns of this role."),
    click.option("--grep", metavar="TEXT", help="Show only turns whose text holds this, in either case."),
)  # fmt: skip
"""Options that choose turns of a thread."""


headish_argument = click.argument("headish", default="@")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: one object, or one per line for a list."
)
settings_and_json = together(json_option, pass_settings)
"""What most commands take: ``settings``, and ``--json`` as ``as_json``."""


page_options = together(
    click.option("-n", "--limit", type=click.IntRange(min=1), help="Show at most this many."),
    click.option("--after", metavar="NAME", help="Show what comes after NAME, the last of the page before."),
)
"""Options that choose a page of a list of names."""


class CachingCommand(click.Command):
    """A command whose ``--cache`` has an optional value: the word after it is taken as one only if it is a time."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        for index in range(end):
            # click's own optional values would take the text of `add --cache TEXT` as the time.
            if args[index] == "--cache" and args[index + 1 : index + 2] not in ([each] for each in TTLS):
                args[index] = "--cache="
        return super().parse_args(ctx, args)


def _read_cache(_context: click.Context, _option: click.Parameter, given: str | None) -> bool | str:
    if given not in (None, "", *TTLS):
        raise click.BadParameter(f"{given!r} is neither {' nor '.join(TTLS)}.")
    return given is not None and (given or True)


cache_option = click.option("--cache", metavar=f"[{'|'.join(TTLS)}]", callback=_read_cache,
                            help="Ask providers to cache up to here; for how long, if you say so.")  # fmt: skip


def _check_expect(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    from headish.values.handles import as_handle
    from headish.values.ids import as_turn_id

    if given is not None and not as_handle(given) and as_turn_id(given) is None:
        raise click.BadParameter(f"{given!r} is neither an id of 25 digits nor a handle.")
    return given


expect_option = click.option("--expect", metavar="ID", callback=_check_expect,
                             help="Refuse unless the bookmark still names this turn.")  # fmt: skip


expect_options = together(
    expect_option, click.option("--absent", is_flag=True, help="Refuse if there is such a bookmark already.")
)
"""Options that say where a bookmark must be before it moves."""


versions_option = click.option("--versions", is_flag=True, help="Also show answers that an import found half written.")
twins_option = click.option("--twins", is_flag=True, help="Also show what came from another machine and was said here.")
force_option = click.option("--force", is_flag=True, help="Move the name of --bookmark, wherever it is.")


key_option = click.option(
    "--key", metavar="FILE", type=PLACE, envvar="HEADISH_SIGNING_KEY",
    help="The private key, or the public key of one that an agent holds.",
)  # fmt: skip
signers_options = together(
    click.option("--signers", metavar="FILE", type=PLACE, envvar="HEADISH_SIGNERS",
                 help="Who signs with which key: the allowed signers of ssh-keygen and git."),
    click.option("--revoked", metavar="FILE", type=PLACE, envvar="HEADISH_REVOKED_KEYS",
                 help="Keys that are trusted no more: a KRL, or public keys."),
)  # fmt: skip
"""Options that say whose signatures are trusted."""
signatures_option = click.option(
    "--signatures", is_flag=True, help="Check who signed each turn. --signers and --revoked ask for it, too."
)


def are_signatures_asked(given: bool) -> bool:
    """Whether ``--signatures`` or, on the command line, an option that has no other use is given.

    Signers of the environment or the configuration ask for nothing: they are there for every command.
    """
    return given or bool(given_among("signers", "revoked"))


def given_among(*names: str) -> list[str]:
    """Those of these parameters that stand on the command line, as it spells them."""
    context = click.get_current_context()
    return [
        max(each.opts, key=len)
        for each in context.command.params
        if each.name in names and context.get_parameter_source(each.name) is ParameterSource.COMMANDLINE
    ]


def refuse_without(partner: str, *names: str) -> None:
    """Refuse parameters that have no effect because ``partner`` is missing. Raises: UsageError."""
    for option in given_among(*names):
        raise click.UsageError(f"{option} goes with {partner}")


class Budget(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """A number of tokens, or ``auto``."""

    name = "budget"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        text = str(value).replace(",", "").replace("_", "")
        # At most 18 digits, which fit into 64 bits.
        if text != "auto" and not (text.isascii() and text.isdigit() and 0 < len(text) < 19 and int(text)):
            self.fail(f"{value!r} is neither a number of tokens nor auto", param, ctx)
        return text if text == "auto" else int(text)


budget_option = click.option(
    "--budget", type=Budget(), metavar="N|auto",
    help="Cut the window to N tokens; auto: to the pointer's context window.",
)  # fmt: skip


def read_expect(expect: str | None, absent: bool = False, store: Store | None = None) -> Any:
    """Convert the options to the library's ``expect=``. With ``store``, ``expect`` may also be a handle.

    Raises: UsageError if both options are given.
    """
    from headish import ABSENT
    from headish.values.handles import as_handle

    if expect is not None and absent:
        raise click.UsageError("--expect and --absent contradict each other")
    if expect is not None and store is not None and as_handle(expect):
        return store.get(expect).id
    return ABSENT if absent else expect


def read_text(text: str | None, *, may_be_absent: bool = False) -> str | None:
    """Return TEXT and, below it after a blank line, what a pipe or file brings on standard input; ``-`` is input alone.

    Empty input adds nothing. Text is UTF-8, whatever the locale. Returns None if there is no text and
    ``may_be_absent``. Raises: UsageError if there must be a text and is none; InvalidContent if it is not UTF-8.
    """
    if text == "-":
        return decode_text(read_stdin(PAYLOAD_LIMIT_BYTES))
    # If standard input must be the text, even a socket is read; a terminal is not, as nobody was asked to type.
    is_read = _brings_data() if text is not None or may_be_absent else not is_terminal()
    piped = decode_text(read_stdin(PAYLOAD_LIMIT_BYTES)) if is_read else ""
    if text is not None:
        return f"{text}\n\n{piped}" if piped and text else text or piped
    if not piped and not may_be_absent:
        raise click.UsageError("there is nothing to store: give the text, or pipe it in")
    return piped or None


def read_stdin(limit_bytes: int = PAYLOAD_LIMIT_BYTES) -> bytes:
    """Read standard input to its end. Raises: TooLarge past the limit, without waiting for the end."""
    if sys.stdin is None:
        return b""
    return _within(sys.stdin.buffer.read(limit_bytes + 1), "standard input", limit_bytes)


def read_file(file: str, limit_bytes: int = TRANSCRIPT_LIMIT_BYTES) -> bytes:
    """Read a regular file, or standard input for ``-``. Raises: OSError; TooLarge past the limit."""
    from headish.values.checks.files import read_regular

    if file == "-":
        return read_stdin(limit_bytes)
    return _within(read_regular(file, limit_bytes), file, limit_bytes)


def read_named(file: str) -> bytes:
    """``read_file`` for a file that a person names. Raises: InvalidArgument if it cannot be read; TooLarge."""
    try:
        return read_file(file)
    except OSError as error:
        raise InvalidArgument(f"the file {file!r} cannot be read: {error.strerror}") from None


@contextmanager
def report_file(path: str | None) -> Iterator[IO[str] | None]:
    """Open the file that ``--report`` names for writing; yield None without one. Raises: UsageError if that fails."""
    from headish.values.checks.files import open_target

    with ExitStack() as stack:
        try:
            report = None if path is None else stack.enter_context(open_target(path))
        except OSError as error:
            raise click.UsageError(f"--report {path}: it cannot be written ({error.strerror})") from None
        yield report


def file_or_pipe(file: str | None) -> str:
    """The file that was named, else ``-``. Raises: UsageError if standard input is a terminal and ``-`` was not given.

    A person at a terminal would not know that the command waits for input.
    """
    if file is None and is_terminal():
        raise click.UsageError("there is nothing to read: name a file, or pipe it in ('-' is what you type)")
    return "-" if file is None else file


def _within(data: bytes, what: str, limit_bytes: int) -> bytes:
    if len(data) <= limit_bytes:
        return data
    raise TooLarge(what, len(data), limit_bytes, is_cut=True)


def _brings_data() -> bool:
    """Whether standard input is a pipe or a file, not a terminal, a device (cron's /dev/null) or a socket.

    A process that starts headish with a pipe must close it, or pass /dev/null: nothing distinguishes a pipe that is
    merely inherited from one whose data is still to come.
    """
    if sys.stdin is None:
        return False
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return not sys.stdin.closed  # a stream of the program's own, without a descriptor
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def is_terminal() -> bool:
    """Whether standard input is a terminal, where a person can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def decode_text(data: bytes) -> str:
    """Decode the bytes of standard input. Raises: InvalidContent if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidContent("standard input", f"it is not UTF-8 ({error.reason} at byte {error.start})") from None


def parse_settings(pairs: tuple[str, ...], option: str = "--set") -> dict[str, Any]:
    """Parse ``KEY=JSON`` pairs into options; ``params.temperature=0.2`` sets a key inside a record."""

    def read(key: str, text: str) -> Any:
        value = _decode(text, key, option)
        if option == "--set":  # --param takes a provider's own keys, which headish does not know
            _hint_at_slip(key.partition(".")[0])
        return value

    return combine_pairs(pairs, "KEY=JSON", option, read)


def combine_pairs(pairs: tuple[str, ...], form: str, option: str, read: Callable[[str, str], Any]) -> dict[str, Any]:
    """Combine an option's ``KEY=TEXT`` pairs into one record. ``read`` maps a key and its text to the value.

    Raises: BadParameter if a pair does not have that form.
    """
    from headish.content.inherited import combine

    combined: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not key or not separator:
            raise click.BadParameter(f"{pair!r} is not {form}", param_hint=option)
        value = read(key, text)
        for part in reversed(key.split(".")):
            value = {part: value}
        combined = combine(combined, value)
    return combined


def _hint_at_slip(key: str) -> None:
    """Note which key may have been meant. The key is accepted anyway: applications have keys of their own."""
    from difflib import get_close_matches

    from headish.content.inherited import SHORTCUTS

    known_keys = ("params", *SHORTCUTS)
    if key not in known_keys and (close := get_close_matches(key, known_keys, 1)):
        note = f"note: --set {key} is not an option that headish knows; did you mean {close[0]}?"
        click.echo(escape_controls(note), err=True)


def read_time(text: str | None, option: str) -> datetime | None:
    """Parse a time in any form that ``NAME@{time}`` takes, in this machine's zone if it has no offset.

    A day for ``--until`` means its end. Raises: BadParameter.
    """
    if text is None:
        return None
    try:
        return parse_time(text, ends=option == "--until")
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _decode(text: str, key: str, option: str) -> Any:
    from headish.content import strictjson

    what = f"{option} {key}"
    # A bare word is the most common slip, and JSON's own message would not say that quotes are missing.
    if text.isidentifier() and text not in ("true", "false", "null", "NaN", "Infinity"):
        raise InvalidContent(what, f"it is not JSON; a text stands in quotes: {key}='\"{text}\"'")
    return strictjson.decode(text, what)


def input_path(path: str) -> Any:
    """Standard input as a binary stream for ``-``, else the path."""
    if path != "-":
        from pathlib import Path

        return Path(path)
    return BytesIO() if sys.stdin is None else sys.stdin.buffer
