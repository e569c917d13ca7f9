"""``ptr``: provider pointers, short names for a provider and a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from headish.values.times import local_time
from headish_cli.commands.talking.timing import timeout_option
from headish_cli.options import GlobalOptions, parse_settings, pass_settings, settings_and_json, together
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import cells, one_line, pad, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish.providers.pointers import NamedPointer, Pointer


cloud_options = together(
    click.option("--cloud", type=click.Choice(["bedrock", "vertex", "azure"]),
                 help="Who serves the model: Amazon Bedrock, Google's Vertex AI, Microsoft Azure."),
    click.option("--region", metavar="REGION", help="The region of bedrock, the location of vertex."),
    click.option("--project", metavar="ID", help="The Google Cloud project (vertex)."),
    click.option("--profile", metavar="NAME", help="The AWS profile (bedrock), instead of the usual credentials."),
    click.option("--resource", metavar="NAME",
                 help="NAME of https://NAME.openai.azure.com or https://NAME.services.ai.azure.com (azure)."),
    click.option("--api-version", metavar="VERSION",
                 help="A dated API version, such as 2024-10-21 (azure); without it the v1 API."),
)  # fmt: skip
"""Options for the cloud that serves a model in place of its provider, named as each cloud names them."""


@click.group("ptr", cls=BriefGroup)
def ptr_command() -> None:
    """Provider pointers: short names for a provider, a model and its parameters.

    A thread names a pointer (headish add -p NAME), and a request goes to the model that it names at that moment.
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
@cloud_options
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE",
              help="A header of its requests, such as anthropic-beta; several times. No keys.")  # fmt: skip
@click.option("--dialect", metavar="NAME",
              help="How the server speaks Chat Completions, if its host does not tell: deepseek, vllm, …")  # fmt: skip
@timeout_option("How long its provider may be silent.")
@settings_and_json
def set_command(
    settings: GlobalOptions, name: str, target: str, params: tuple[str, ...], headers: tuple[str, ...],
    timeout: dict[str, float], as_json: bool, **server: Any,
) -> None:  # fmt: skip
    """Point NAME at a provider's model. Its history keeps what it pointed at before.

    A key has no place here: it stays in the environment, in a keyring, or with the tools of the cloud.

    \b
    headish ptr set claude \\
        anthropic/us.anthropic.claude-sonnet-4-5-20250929-v1:0 \\
        --cloud bedrock --region us-east-1
    headish ptr set claude anthropic/claude-sonnet-4-5@20250929 \\
        --cloud vertex --region global --project my-project
    headish ptr set gpt openai_responses/my-deployment \\
        --cloud azure --resource my-resource
    """
    parsed = parse_settings(params, "--param")
    with settings.open(create=True) as store:
        arguments = {"params": parsed, "headers": _read_headers(headers), "timeouts": timeout, **server}
        pointer = store.pointers.set(name, target, **arguments)
    if as_json:
        print_json({"name": name, **pointer.to_dict()})
    else:
        say(f"{name} points at {pointer}.")


@ptr_command.command("show")
@click.argument("name")
@settings_and_json
def show_command(settings: GlobalOptions, name: str, as_json: bool) -> None:
    """Show what NAME points at, the URL that its requests go to, and in which dialect. Nothing is sent."""
    with settings.open() as store:
        pointer, url = store.pointers[name], store.pointers.url(name)
    if as_json:
        spoken = pointer.spoken
        speaks = None if spoken is None else spoken.to_dict()
        print_json({"name": name, "url": url, **pointer.to_dict(), "spoken": speaks})
        return
    for word, value in _facts(pointer, url):
        click.echo(one_line(f"{word:<8} {value}", None))


@ptr_command.command("list")
@settings_and_json
def list_command(settings: GlobalOptions, as_json: bool) -> None:
    """List the pointers by name."""
    with settings.open() as store:
        pointers = store.pointers.list()
    _print(pointers, as_json, dated=False)
    if not pointers and not as_json:
        say("There is no provider pointer: 'headish ptr set NAME PROVIDER/MODEL' makes one.")


@ptr_command.command("history")
@click.argument("name")
@settings_and_json
def history_command(settings: GlobalOptions, name: str, as_json: bool) -> None:
    """List all that NAME ever pointed at, the last first."""
    with settings.open() as store:
        history = store.pointers.history(name)
    _print(history, as_json, dated=True)


@ptr_command.command("rm")
@click.argument("name")
@pass_settings
def rm_command(settings: GlobalOptions, name: str) -> None:
    """Remove NAME; its history stays."""
    with settings.open() as store:
        store.pointers.remove(name)
        # The default is a name: removing the pointer does not remove it, and calls would then fail.
        was_default = store.pointers.default == name
    say(f"{name} points at nothing now.")
    if was_default:
        say(f"{name} is still the default: 'headish ptr default' sets another, or --unset none.")


@ptr_command.command("default")
@click.argument("name", required=False)
@click.option("--unset", is_flag=True, help="Remove the default.")
@settings_and_json
def default_command(settings: GlobalOptions, name: str | None, unset: bool, as_json: bool) -> None:
    """Make NAME the default pointer, for threads that name none; without NAME, print it.

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
    room = max((cells(each.name) for each in pointers), default=0)
    for each in pointers:
        when = f"{local_time(each.time)}  " if dated else ""
        click.echo(one_line(f"{when}{pad(each.name, room)}  {_describe(each)}", None))


def _params(pointer: Pointer) -> list[str]:
    import msgspec

    return [f"{key}={msgspec.json.encode(value).decode()}" for key, value in pointer.params.items()]


def _record(named: NamedPointer) -> dict[str, Any]:
    pointer = {} if named.pointer is None else named.pointer.to_dict()
    spoken = None if named.pointer is None else named.pointer.spoken
    record = {"name": named.name, "time": named.time.isoformat(timespec="milliseconds"), **pointer}
    return record if spoken is None else {**record, "spoken": spoken.to_dict()}


def _describe(named: NamedPointer) -> str:
    pointer = named.pointer
    if pointer is None:
        return "removed"
    more = [f"on {pointer.cloud}"] if pointer.cloud else []
    more += [f"at {pointer.base_url}"] if pointer.base_url else []
    more += [f"key in {pointer.key_env}"] if pointer.key_env else []
    more += [f"takes {pointer.context_window:,} tokens"] if pointer.context_window else []
    more += [f"{name.replace('_', '-')} in {seconds:g} s" for name, seconds in pointer.timeouts.items()]
    spoken = pointer.spoken
    if spoken is not None and (pointer.dialect or not spoken.is_default):
        more.append(f"speaks {spoken.name} ({spoken.why})")
    headers = (f"{name}: {value}" for name, value in pointer.headers.items())
    return "  ".join([str(pointer), *_params(pointer), *more, *headers])


def _facts(pointer: Pointer, url: str) -> Iterator[tuple[str, str]]:
    """Yield the settings of a pointer as ``(word, text)``, then how its dialect changes a request."""
    from headish.providers.dialects.choosing import describe_dialect

    yield "model", str(pointer)
    if pointer.cloud is not None:
        yield "cloud", str(pointer.cloud)
        cloud_options = {"profile": pointer.cloud.profile, "version": pointer.cloud.api_version}
        yield from ((word, text) for word, text in cloud_options.items() if text)
    yield "url", url
    if pointer.key_env is not None:
        yield "key in", pointer.key_env
    yield from (("header", f"{name}: {value}") for name, value in pointer.headers.items())
    yield from (("param", each) for each in _params(pointer))
    if pointer.context_window is not None:
        yield "takes", f"{pointer.context_window:,} tokens"
    yield from (("timeout", f"{name.replace('_', '-')} in {seconds:g} s") for name, seconds in pointer.timeouts.items())
    spoken = pointer.spoken
    if spoken is not None and (pointer.dialect or not spoken.is_default):
        yield "dialect", f"{spoken.name}: {spoken.why}"
        yield from (("", each) for each in describe_dialect(spoken.name))


def _read_headers(pairs: tuple[str, ...]) -> dict[str, str]:
    """Parse ``NAME=VALUE`` pairs; the last of a name wins. Raises: BadParameter without the pair: it may be a key."""
    headers: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not name or not separator:
            raise click.BadParameter("a header is NAME=VALUE", param_hint="--header")
        # Names of headers are case-insensitive (RFC 9110, 5.1): in one spelling, the last of two wins.
        headers[name.strip().lower()] = value.strip(" ")
    return headers
