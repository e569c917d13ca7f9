"""``remote``: manage the places that hold this history, and the machines that share them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headish_cli.options import GlobalOptions, is_terminal, pass_settings, settings_and_json, together
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import one_line, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish.values.results.sharing import RemotePlace

T = TypeVar("T")
SETTINGS = ("key", "names", "erasures", "trust", "sign", "require-signed", "key-env")
SWITCH = {None: None, "on": True, "off": False, "true": True, "false": False}
"""The settings of a remote, and the words of a switch; None if it is not given."""
NO_REMOTE = "There is no remote: 'headish remote add NAME URL' adds one."

secrets_option = click.option("--allow-secrets", is_flag=True, help="Go on where something looks like a key.")

joining_options = together(
    click.option("--device", metavar="NAME", help="Call this machine so there. [default: its host name]"),
    click.option("--plain", is_flag=True, help="Do not encrypt: whoever can read the place can read everything."),
    click.option("--passphrase", is_flag=True,
                 help="Share the key by a passphrase: HEADISH_PASSPHRASE, its _FILE, or typed."),
    click.option("--key", metavar="FINGERPRINT",
                 help="Take no other key than the one that 'remote add' showed there."),
    click.option("--key-env", metavar="PLACE",
                 help="Where the token for a server is: a variable, or keyring:NAME."),
)  # fmt: skip
"""Options for how a machine joins a remote."""


@contextmanager
def asked(url: str, joining: Mapping[str, Any]) -> Iterator[None]:
    """Ask at the terminal for the passphrase of a remote, if one is needed and no variable or file has it.

    The passphrase is in this process's environment, where the library looks for it, until the block ends.
    Raises: InvalidArgument.
    """
    from headish.remotes.keys import PASSPHRASE, read_passphrase
    from headish.remotes.kinds import is_live

    is_used = joining["passphrase"] and not joining["plain"] and not is_live(url)
    if not is_used or not is_terminal() or read_passphrase() is not None:
        yield
        return
    # Asked for twice: a slip would encrypt the remote's key with a passphrase that nobody knows.
    os.environ[PASSPHRASE] = click.prompt(
        "Passphrase of the remote", hide_input=True, confirmation_prompt="Repeat it", err=True
    )
    try:
        yield
    finally:
        del os.environ[PASSPHRASE]


def join_place(settings: GlobalOptions, join: Callable[..., T], join_first: Callable[..., T], name: str, url: str,
               joining: Mapping[str, Any]) -> T:  # fmt: skip
    """Join a place with ``join``, a verb of ``Remotes``; without a store with ``join_first``, which makes one once
    nothing refuses: a slip must not make a database."""
    from headish.store.keeping.sharing.places import Joining

    with asked(url, joining):
        if settings.is_made():
            with settings.open() as store:
                return join(store.remotes, name, url, **joining)
        make = partial(settings.open, create=True)
        return join_first(make, settings.target, settings.space, name, url, Joining(**joining))


@click.group("remote", cls=BriefGroup)
def remote_command() -> None:
    """Other places that hold this history: add, list, set, devices, invite, revoke, remove.

    A remote is a folder or a bucket. Each machine has a log of its own there, which nobody else changes, so nothing is
    ever overwritten. headish encrypts what it puts there. A live remote is another database: one of this machine, or
    that of another one over ssh or https.
    """


@remote_command.command("add")
@click.argument("name")
@click.argument("url")
@joining_options
@settings_and_json
def add_command(settings: GlobalOptions, name: str, url: str, as_json: bool, **joining: Any) -> None:
    """Call the folder or bucket URL by NAME: file:///PATH, s3://BUCKET/PATH, gs://…, az://….

    With ssh://HOST/PATH, NAME is the database PATH on HOST, where headish must be installed; ssh://HOST is the usual
    database there. cmd:COMMAND runs a command of your own that ends in 'headish serve-stdio'. https://HOST asks
    'headish serve' there, with a token that has the right sync; --key-env says where the token is. A path, or
    postgresql://… without a password, is a database that this machine opens itself.

    Keys of a bucket come from the environment or the provider's own files. A bucket that keeps old versions also keeps
    what is erased later.
    """
    from headish.store.keeping.remotes import Remotes
    from headish.store.keeping.sharing.places import add_first

    added = join_place(settings, Remotes.add, add_first, name, url, joining)
    if as_json:
        print_json(added)
        return
    tell_remote(added)


@remote_command.command("list")
@settings_and_json
def list_command(settings: GlobalOptions, as_json: bool) -> None:
    """List the remotes."""
    from headish.remotes.kinds import is_live

    with settings.open() as store:
        remotes = store.remotes.list()
    if as_json:
        print_json_lines(remotes)
        return
    if not remotes:
        say(NO_REMOTE)
    for each in remotes:
        how = "encrypted" if each.encrypted else "live" if is_live(each.url) else "plain"
        click.echo(f"{one_line(each.name, 255)}  {one_line(each.url, 500)}  {how}  as {one_line(each.device, 255)}")


@remote_command.command("remove")
@click.argument("name")
@pass_settings
def remove_command(settings: GlobalOptions, name: str) -> None:
    """Forget the remote NAME and its key on this machine. The files there stay."""
    with settings.open() as store:
        store.remotes.remove(name)


@remote_command.command("set")
@click.argument("name")
@click.argument("pairs", metavar="KEY=VALUE...", nargs=-1, required=True)
@settings_and_json
def set_command(settings: GlobalOptions, name: str, pairs: Sequence[str], as_json: bool) -> None:
    """Change a setting of the remote NAME.

    \b
    key=FINGERPRINT             confirm a key that another machine printed
    names=PATTERN               the bookmarks that a pull may make here
    erasures=apply|ask|ignore   what an erasure on another device does here
    trust=on|off                whether options of a --plain remote act here
    sign=on|off                 whether what goes there is signed, with the key
                                that HEADISH_SIGNING_KEY or 'config' names
    require-signed=on|off       whether a pull takes only what somebody signed
                                whom HEADISH_SIGNERS or 'config' lists
    key-env=PLACE               where the token for a server is: a variable,
                                or keyring:NAME
    """
    values = {each.partition("=")[0]: each.partition("=")[2] for each in pairs}
    unknown = [each for each in pairs if each.partition("=")[0] not in SETTINGS or "=" not in each]
    if unknown:
        *first, last = (f"{each}=" for each in SETTINGS)
        raise click.UsageError(f"{unknown[0]!r} is not one of {', '.join(first)} and {last}")
    switches = {each: values.pop(each, None) for each in ("trust", "sign", "require-signed")}
    key_env = values.pop("key-env", None)
    for each, word in switches.items():
        if word not in SWITCH:
            raise click.UsageError(f"{each} is on or off, not {word!r}")
    with settings.open() as store:
        changed = store.remotes.set(
            name, **values, trust=SWITCH[switches["trust"]], sign=SWITCH[switches["sign"]],
            require_signed=SWITCH[switches["require-signed"]], key_env=key_env,
        )  # fmt: skip
    if as_json:
        print_json(changed)
        return
    tell_remote(changed)


@remote_command.command("devices")
@click.argument("name")
@settings_and_json
def devices_command(settings: GlobalOptions, name: str, as_json: bool) -> None:
    """List the machines of the remote NAME, this one first.

    They are as they were when they were last read.
    """
    with settings.open() as store:
        devices = store.remotes.devices(name)
    if as_json:
        print_json_lines(devices)
        return
    for each in devices:
        when = "never" if each.time is None else f"{each.time:%Y-%m-%d %H:%MZ}"
        note = "" if each.erased else "  has not taken over every erasure"
        click.echo(f"{one_line(each.label, 255)}{' (this machine)' if each.own else ''}  {when}{note}")


@remote_command.command("invite")
@click.argument("name")
@click.argument("recipient")
@pass_settings
def invite_command(settings: GlobalOptions, name: str, recipient: str) -> None:
    """Give another machine the key of the remote NAME; RECIPIENT is what 'remote add' printed there.

    Prints the command that the other machine runs to confirm the key. Carry it there yourself: whoever can write to the
    place could put another key there.
    """
    with settings.open() as store:
        fingerprint = store.remotes.invite(name, recipient)
    click.echo(f"headish remote set {name} key={fingerprint}")


@remote_command.command("revoke")
@click.argument("name")
@click.argument("device")
@secrets_option
@pass_settings
def revoke_command(settings: GlobalOptions, name: str, device: str, allow_secrets: bool) -> None:
    """Take DEVICE out of the remote NAME: a new key for all others, and the device's log removed.

    Prints the command by which each other machine confirms the new key; a machine that this one has not invited is to
    be invited again. The device keeps what it has read. Take away its access to the bucket or folder, too.
    """
    with settings.open() as store:
        fingerprint = store.remotes.revoke(name, device, allow_secrets=allow_secrets, tell=_tell_unread)
        stay = store.remotes.devices(name)
    if fingerprint:  # a plain remote has no key
        for each in stay:
            # Others do not get the new key: whoever had the old one could have written a log in their name.
            if not (each.own or each.invited):
                say(
                    f"{one_line(each.label, 255)} was not invited from here: 'headish remote invite {name} age1…' again"
                )
        click.echo(f"headish remote set {name} key={fingerprint}")


def _tell_unread(what: str) -> None:
    say(f"not read: {one_line(what, 500)}")


def tell_remote(remote: RemotePlace) -> None:
    """Describe a remote, and what to do next."""
    from headish.remotes.kinds import is_live

    how = f"encrypted, key {remote.fingerprint}" if remote.fingerprint else "encrypted" if remote.encrypted else "plain"
    how = "live" if is_live(remote.url) else how
    say(f"{one_line(remote.name, 255)}: {how}; this machine is {one_line(remote.device, 255)}.")
    if remote.waits:
        say(f"{one_line(remote.waits, 500)}.")
