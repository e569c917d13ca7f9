"""``ptr``: provider pointers, short names for a provider and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish_cli.commands.talking.timing import timeout_option
from headish_cli.options import Settings, json_option, parse_settings, pass_settings
from headish_cli.printing.output import cells, one_line, pad, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish.providers.pointers import NamedPointer


@click.group("ptr")
def ptr_command() -> None:
    """Provider pointers: short names for a provider, a model and its parameters.

    A thread names one (headish add -p NAME), and is asked from whoever it points at when the request is made.
    """


@ptr_command.command("set")
@click.argument("name")
@click.argument("target", metavar="PROVIDER/MODEL")
@click.option("--param", "params", multiple=True, metavar="KEY=JSON",
              help="A parameter of its requests, below those of the thread; several times.")  # fmt: skip
@click.option("--base-url", metavar="URL", help="A compatible server: Ollama, vLLM, llama.cpp, a gateway.")
@click.option("--key-env", metavar="VARIABLE", help="The environment variable that holds the key for --base-url.")
@click.option("--context-window", type=click.IntRange(min=256), metavar="TOKENS",
              help="How many tokens the model takes, its answer included; --budget auto goes by it.")  # fmt: skip
@timeout_option("How long its provider may be silent.")
@json_option
@pass_settings
def set_command(
    settings: Settings, name: str, target: str, params: tuple[str, ...], base_url: str | None, key_env: str | None,
    context_window: int | None, timeout: dict[str, float], as_json: bool,
) -> None:  # fmt: skip
    """Let NAME point at a provider's model from now on. What it pointed at is kept in its history.

    A key has no place here: it stays in the environment or in a keyring.
    """
    parsed = parse_settings(params, "--param")
    with settings.open(create=True) as store:
        pointer = store.pointers.set(
            name, target, params=parsed, base_url=base_url, key_env=key_env, context_window=context_window,
            timeouts=timeout,
        )  # fmt: skip
    if as_json:
        print_json({"name": name, **pointer.to_dict()})
    else:
        say(f"{name} points at {pointer}.")


@ptr_command.command("list")
@json_option
@pass_settings
def list_command(settings: Settings, as_json: bool) -> None:
    """List the pointers by name."""
    with settings.open() as store:
        pointers = store.pointers.list()
    _print(pointers, as_json, dated=False)


@ptr_command.command("history")
@click.argument("name")
@json_option
@pass_settings
def history_command(settings: Settings, name: str, as_json: bool) -> None:
    """List all that NAME ever pointed at, the last first."""
    with settings.open() as store:
        history = store.pointers.history(name)
    _print(history, as_json, dated=True)


@ptr_command.command("rm")
@click.argument("name")
@pass_settings
def rm_command(settings: Settings, name: str) -> None:
    """Remove NAME; its history stays."""
    with settings.open() as store:
        store.pointers.remove(name)
        was_default = store.pointers.default == name
    say(f"{name} points at nothing now.")
    if was_default:
        say(f"{name} is still the default: 'headish ptr default' sets another, or --unset none.")


@ptr_command.command("default")
@click.argument("name", required=False)
@click.option("--unset", is_flag=True, help="Let there be no default.")
@json_option
@pass_settings
def default_command(settings: Settings, name: str | None, unset: bool, as_json: bool) -> None:
    """Let threads that name no pointer be asked by NAME from now on; without NAME, print which one it is.

    A thread keeps the pointer that it was first asked by.
    """
    if unset and name is not None:
        raise click.UsageError("--unset takes no NAME")
    with settings.open() as store:
        if unset or name is not None:
            store.pointers.set_default(name)
        default = store.pointers.default
    if as_json:
        print_json({"default": default})
    elif unset or name is not None:
        say("There is no default." if default is None else f"{default} is the default.")
    elif default is not None:
        click.echo(default)
    else:
        say("There is no default: 'headish ptr default NAME' sets one.")


def _print(pointers: list[NamedPointer], as_json: bool, *, dated: bool) -> None:
    if as_json:
        print_json_lines(_record(each) for each in pointers)
        return
    from headish.values.times import local_time

    room = max((cells(each.name) for each in pointers), default=0)
    for each in pointers:
        when = f"{local_time(each.time)}  " if dated else ""
        click.echo(one_line(f"{when}{pad(each.name, room)}  {_describe(each)}", None))


def _record(named: NamedPointer) -> dict[str, Any]:
    pointer = {} if named.pointer is None else named.pointer.to_dict()
    return {"name": named.name, "time": named.time.isoformat(timespec="milliseconds"), **pointer}


def _describe(named: NamedPointer) -> str:
    pointer = named.pointer
    if pointer is None:
        return "removed"
    import msgspec

    params = [f"{key}={msgspec.json.encode(value).decode()}" for key, value in pointer.params.items()]
    more = ([f"at {pointer.base_url}"] if pointer.base_url else []) + (
        [f"key in {pointer.key_env}"] if pointer.key_env else []
    )
    more += [f"takes {pointer.context_window:,} tokens"] if pointer.context_window else []
    more += [f"{name.replace('_', '-')} in {seconds:g} s" for name, seconds in pointer.timeouts.items()]
    return "  ".join([str(pointer), *params, *more])
