"""The configuration file: settings for every command. Options and the environment win over it.

It is TOML in the platform's place for it. Every command looks for it, so nothing is imported before it is there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headish_cli.printing.output import Told

LIMIT_BYTES = 64 * 1024
ISOLATIONS = ("required", "none")
COLOURS = ("auto", "always", "never")


UNITS = {"m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
SYNC_WORDS = "NAME every TIME, with commas between several: 'box every 5m, office every 1h'"


def read_duration(text: str) -> float | None:
    """The seconds of a number of minutes, hours or days, such as 30m; None for what is none."""
    found = re.fullmatch(r"([1-9][0-9]{0,4})([mhd])", text)
    return None if found is None else float(int(found[1]) * UNITS[found[2]])


def read_timetable(text: str) -> dict[str, float]:
    """The remotes to sync with, and how many seconds lie between two syncs; nothing for what cannot be read."""
    found: dict[str, float] = {}
    for each in text.split(","):
        name, every, time = each.strip().rpartition(" every ")
        seconds = read_duration(time.strip())
        if not every or not name.strip() or seconds is None or name.strip() in found:
            return {}
        found[name.strip()] = seconds
    return found


class Key:
    """A key of the file: the variable that wins over it, and what it may hold."""

    def __init__(self, variable: str, check: Callable[[str], bool] = bool, words: str = "a text") -> None:
        self.variable, self.check, self.words = variable, check, words


KEYS: dict[str, Key] = {
    "db": Key("HEADISH_DB"),
    "space": Key("HEADISH_SPACE"),
    "author": Key("HEADISH_AUTHOR"),
    "isolation": Key("HEADISH_ISOLATION", ISOLATIONS.__contains__, "required or none"),
    "ptr": Key("HEADISH_PTR"),
    "prices": Key("HEADISH_PRICES"),
    "signing_key": Key("HEADISH_SIGNING_KEY"),
    "signers": Key("HEADISH_SIGNERS"),
    "revoked_keys": Key("HEADISH_REVOKED_KEYS"),
    "sync": Key("HEADISH_SYNC", lambda said: bool(read_timetable(said)), SYNC_WORDS),
    "pager": Key("HEADISH_PAGER"),
    "color": Key("NO_COLOR", COLOURS.__contains__, "auto, always or never"),
}


PATHS = ("db", "prices", "signing_key", "signers", "revoked_keys")
"""The keys whose value is a path, which may begin with ~."""
READ_FROM_ENVIRONMENT = ("pager", "signing_key", "signers", "revoked_keys")
"""The keys that take effect by their variable: the library reads it, too."""


def config_path() -> str:
    """Where the file is, or would be: ``HEADISH_CONFIG``, else ``config.toml`` in the platform's folder."""
    given = os.environ.get("HEADISH_CONFIG")
    if given:
        return given
    if sys.platform.startswith("linux"):
        # As platformdirs says; importing it would cost every command more than all else that is done here.
        home = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        return os.path.join(home, "headish", "config.toml")
    from platformdirs import user_config_path

    return str(user_config_path("headish", appauthor=False) / "config.toml")


def read_config(path: str) -> dict[str, str]:
    """What the file says; nothing where there is none. Raises: Told, which names the file and what is wrong in it."""
    text = _read_text(path)
    if not text:
        return {}
    import tomllib

    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Told(f"{path} is no TOML: {error}; 'headish config edit' opens it") from None
    for key, value in said.items():
        check_value(key, value, f" in {path}")
    return {key: os.path.expanduser(value) if key in PATHS else value for key, value in said.items()}


def check_value(key: str, value: Any, where: str = "") -> None:
    """Refuse a key that the file does not have, or a value that it cannot have. Raises: Told."""
    known = KEYS.get(key)
    if known is None:
        raise Told(f"unknown key {key[:80]!r}{where}: there are {', '.join(KEYS)}")
    if not isinstance(value, str) or "\0" in value or not known.check(value):
        raise Told(f"the value of {key!r}{where} is {known.words}")


@contextmanager
def changed_config(path: str) -> Iterator[Any]:
    """The file as a document of tomlkit, written back as a whole, comments and order kept.

    As git does it, the new file is written beside the old one under a name that only one process can make; so two
    that change it do not lose what the other did. Raises: Told where another process is at it; OSError.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = os.path.realpath(path)  # a link to a file among others stays one
    if path == os.devnull:  # a rename onto it would take it from every program
        raise Told(f"{path} keeps nothing: HEADISH_CONFIG names the file to change")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lock = f"{path}.lock"
    try:
        # The address of a database may hold a password.
        opened = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Told(f"another process changes the file, or ended while it did: if none does, remove {lock}") from None
    try:
        with os.fdopen(opened, "w", encoding="utf-8", newline="") as written:
            try:
                document = tomlkit.parse(_read_text(path))
            except TOMLKitError as error:
                raise Told(f"{path} is no TOML: {error}; 'headish config edit' opens it") from None
            yield document
            written.write(tomlkit.dumps(document))
            written.flush()
            os.fsync(written.fileno())
        os.replace(lock, path)
    except BaseException:
        os.unlink(lock)
        raise


def _read_text(path: str) -> str:
    from headish.values.checks.files import read_regular

    if path == os.devnull:
        return ""
    try:
        data = read_regular(path, LIMIT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise Told(f"the configuration {path} cannot be read: {error.strerror}") from None
    if len(data) > LIMIT_BYTES:
        raise Told(f"the configuration {path} is larger than {LIMIT_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Told(f"the configuration {path} is not UTF-8") from None
