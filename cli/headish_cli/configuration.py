"""The configuration file: settings for every command. Options and environment variables win over it.

It is a TOML file in the platform's folder for configuration. Every command looks for it, so the TOML reader is imported
only if the file exists.
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
    """Read a duration such as 30m, 2h or 1d into seconds; None if the text is not one."""
    match = re.fullmatch(r"([1-9][0-9]{0,4})([mhd])", text)
    return None if match is None else float(int(match[1]) * UNITS[match[2]])


def read_timetable(text: str) -> dict[str, float]:
    """Read the remotes to sync with and the seconds between two syncs; empty if any part cannot be read."""
    intervals: dict[str, float] = {}
    for each in text.split(","):
        name, every, time = each.strip().rpartition(" every ")
        seconds = read_duration(time.strip())
        if not every or not name.strip() or seconds is None or name.strip() in intervals:
            return {}
        intervals[name.strip()] = seconds
    return intervals


class Key:
    """A key of the file: the environment variable that wins over it, the check of its value, and the check in words."""

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
"""The keys that the command passes on in their variables, because the library reads those."""


def config_path() -> str:
    """The path of the file, which may not exist: ``HEADISH_CONFIG``, else ``config.toml`` in the platform's folder."""
    path = os.environ.get("HEADISH_CONFIG")
    if path:
        return path
    if sys.platform.startswith("linux"):
        # The same as platformdirs computes. Importing it would cost every command more than all else that is done here.
        home = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        return os.path.join(home, "headish", "config.toml")
    from platformdirs import user_config_path

    return str(user_config_path("headish", appauthor=False) / "config.toml")


def read_config(path: str) -> dict[str, str]:
    """Read the file; empty if there is none. Raises: Told, which names the file and what is wrong with it."""
    text = _read_text(path)
    if not text:
        return {}
    import tomllib

    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Told(f"{path} is not TOML: {error}; 'headish config edit' opens it") from None
    for key, value in settings.items():
        check_value(key, value, f" in {path}")
    return {key: os.path.expanduser(value) if key in PATHS else value for key, value in settings.items()}


def check_value(key: str, value: Any, where: str = "") -> None:
    """Refuse an unknown key, or a value that its key cannot have. Raises: Told."""
    definition = KEYS.get(key)
    if definition is None:
        raise Told(f"unknown key {key[:80]!r}{where}: there are {', '.join(KEYS)}")
    # A value may become an environment variable or a path, and neither can hold a NUL.
    if not isinstance(value, str) or "\0" in value or not definition.check(value):
        raise Told(f"the value of {key!r}{where} is {definition.words}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Told(f"the value of {key!r}{where} is not UTF-8, as the file is") from None


@contextmanager
def changed_config(path: str) -> Iterator[Any]:
    """Yield the file as a tomlkit document to change, then write it back whole, with its comments and order.

    As git does, headish writes the new file beside the old one under a name that only one process can create, so two
    processes never lose each other's change. Raises: Told if another process is changing the file; OSError.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = os.path.realpath(path)  # os.replace would put a file in the place of a symbolic link
    if path == os.devnull:  # a rename onto it would take the device from every program
        raise Told(f"{path} keeps nothing: HEADISH_CONFIG names the file to change")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lock = f"{path}.lock"
    try:
        # Mode 0600: the URL of a database may hold a password.
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Told(f"another process changes the file, or ended while it did: if none does, remove {lock}") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            try:
                document = tomlkit.parse(_read_text(path))
            except TOMLKitError as error:
                raise Told(f"{path} is not TOML: {error}; 'headish config edit' opens it") from None
            yield document
            # Synced before it replaces the old file: otherwise a power cut could leave an empty one under the name.
            file.write(tomlkit.dumps(document))
            file.flush()
            os.fsync(file.fileno())
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
