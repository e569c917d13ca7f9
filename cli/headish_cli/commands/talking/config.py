"""``config``: the configuration file, and the source of each setting in effect."""

from __future__ import annotations

import os
from typing import Any

import click
from click.core import ParameterSource

from headish_cli.configuration import KEYS, PATHS, changed_config, check_value, config_path, read_config
from headish_cli.options import GlobalOptions, json_option
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import Told, one_line, pad, print_json_lines, say, write

key_argument = click.argument("key", type=click.Choice(tuple(KEYS)), metavar="KEY")


@click.group("config", cls=BriefGroup)
def config_command() -> None:
    """The configuration file: settings for which neither an option nor a variable is given.

    \b
    db            the database: a path or a URL   --db, HEADISH_DB
    space         the space to use                --space, HEADISH_SPACE
    author        who writes                      --author, HEADISH_AUTHOR
    isolation     required, or none               --isolation, HEADISH_ISOLATION
    ptr           of threads without a pointer    -p, -m; HEADISH_PTR
    prices        the table of prices of 'cost'   --prices, HEADISH_PRICES
    signing_key   the SSH key that signs          --key, HEADISH_SIGNING_KEY
    signers       who signs with which key        --signers, HEADISH_SIGNERS
    revoked_keys  keys that are trusted no more   HEADISH_REVOKED_KEYS
    sync          remotes that 'serve' syncs with HEADISH_SYNC
    pager         what shows long lists           HEADISH_PAGER
    color         auto, always or never           NO_COLOR

    The file is TOML; HEADISH_CONFIG names another one.
    """


@config_command.command("path")
def path_command() -> None:
    """Print where the file is, or would be."""
    write(f"{config_path()}\n")


@config_command.command("get")
@key_argument
def get_command(key: str) -> None:
    """Print what the file says of KEY."""
    path = config_path()
    value = read_config(path).get(key)
    if value is None:
        raise Told(f"{path} does not say {key}")
    write(f"{value}\n")


@config_command.command("set")
@key_argument
@click.argument("value")
def set_command(key: str, value: str) -> None:
    """Set KEY to VALUE. The file's comments and order stay."""
    if key in PATHS and "://" not in value and value != ":memory:":
        value = os.path.abspath(os.path.expanduser(value))  # commands read the file in any working directory
    check_value(key, value)
    with changed_config(config_path()) as document:
        document[key] = value


@config_command.command("unset")
@key_argument
def unset_command(key: str) -> None:
    """Remove KEY from the file."""
    path = config_path()
    if key not in read_config(path):
        say(f"{path} does not say {key}.")
        return
    with changed_config(path) as document:
        document.pop(key, None)


@config_command.command("edit")
def edit_command() -> None:
    """Open the file in your editor, and check it."""
    path = config_path()
    # Editors cannot save into a folder that does not exist.
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    click.edit(filename=path)
    read_config(path)


@config_command.command("show")
@json_option
@click.pass_context
def show_command(ctx: click.Context, /, as_json: bool) -> None:
    """Show each setting and where it comes from: an option, a variable, the file, or the default."""
    configured = read_config(config_path())
    rows = [_effective(ctx, key, configured) for key in KEYS]
    if as_json:
        print_json_lines(rows)
        return
    # Without the first row, the database, whose path may be long.
    room = max(len(row["value"] or "-") for row in rows[1:])
    for row in rows:
        line = f"{row['key']:<12} {pad(row['value'] or '-', room)}  {row['source']}"
        click.echo(one_line(line, None))


def _effective(ctx: click.Context, key: str, said: dict[str, str]) -> dict[str, Any]:
    """``{key, value, source}`` of the setting in effect."""
    settings: GlobalOptions = ctx.find_root().obj
    option = {"db": settings.target, "space": settings.space, "author": settings.author,
              "isolation": settings.isolation or "none"}  # fmt: skip
    if key in option:
        value, source = option[key], _source(ctx.find_root(), key)
    else:
        variable = next((each for each in (KEYS[key].variable, *FURTHER.get(key, ())) if os.environ.get(each)), None)
        value = os.environ[variable] if variable else said.get(key)
        source = f"environment {variable}" if variable else "file" if key in said else "default"
        if key == "color":
            # NO_COLOR means never, whatever its value (https://no-color.org).
            value = "never" if variable else value or "auto"
            if os.environ.get("TERM") == "dumb" and not variable:
                value, source = "never", "environment TERM"
    return {"key": key, "value": _without_password(value), "source": source}


def _source(root: click.Context, key: str) -> str:
    words = {
        ParameterSource.COMMANDLINE: f"option --{key}",
        ParameterSource.ENVIRONMENT: f"environment {KEYS[key].variable}",
        ParameterSource.DEFAULT_MAP: "file",
    }
    source = root.get_parameter_source(key)
    return words.get(source, "default") if source is not None else "default"


def _without_password(value: str | None) -> str | None:
    if value is None or "://" not in value:
        return value
    from headish.database.urls import parse_url

    try:
        return str(parse_url(value))
    except ValueError:
        return "***"  # it cannot be parsed, so the password in it cannot be found and hidden


FURTHER = {"pager": ("PAGER",)}
"""Variables of other programs that apply if headish's own is not set."""
