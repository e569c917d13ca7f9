"""``ask`` and ``retry``: send a person's message to a provider, print its answer and store both."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from headish.errors import CallError, HeadishError
from headish_cli.commands.talking.saying import check_call, choose_model, read_said, say_options
from headish_cli.commands.talking.timing import timeout_option
from headish_cli.options import (
    INTERRUPTED,
    PLACE,
    GlobalOptions,
    budget_option,
    force_option,
    refuse_without,
    settings_and_json,
    together,
)
from headish_cli.printing.output import Stopped, Told, print_json, say, sentence
from headish_cli.printing.showing import announce_call, approve_call, describe_call, show_answer
from headish_cli.printing.telling import reply_record, tell_branch, tell_reply

if TYPE_CHECKING:
    from headish import Store, Turn
    from headish.content.encoding import Content
    from headish.store.answers.answer import Answer
    from headish.store.asking.tool_calls import Approve
    from headish.store.space import Headishes
    from headish.tools.servers import ToolServers


call_options = together(
    click.option("--stream/--no-stream", default=True, help="Show the answer while it arrives, or at its end."),
    click.option("-m", "--model", metavar="NAME",
                 help="Ask this pointer; if none has that name, this model of the pointer's provider."),
    click.option("--base-url", metavar="URL", help="A compatible server: Ollama, vLLM, llama.cpp, a gateway."),
    click.option("--key-env", metavar="VARIABLE", help="The environment variable that holds the key for it."),
    click.option("--dialect", metavar="NAME", help="How it speaks Chat Completions, if its host does not tell."),
    timeout_option("How long the provider may be silent, 600 by default; the whole call ends after 3600."),
    budget_option,
)  # fmt: skip
"""The options of every command that calls a provider."""


def call_settings(call: dict[str, Any]) -> dict[str, Any]:
    """Convert the options of ``call_options`` to the arguments of ``open_answer``, which also report each retry."""
    settings = {key: value for key, value in call.items() if key != "timeout"}
    return {**settings, "timeouts": call["timeout"] or None, "told": _tell_wait}


@click.command("ask")
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("-c", "--continues", multiple=True, metavar="HEADISH", help="What to continue; several times to merge.")
@click.option("-b", "--bookmark", metavar="NAME", help="Set this name; it moves on to the reply.")
@force_option
@click.option("-p", "--ptr", metavar="PTR", help="Ask this provider pointer, from now on.")
@click.option("--to", metavar="PROVIDER", help="Ask this provider, without a pointer.")
@click.option("--server", "servers", multiple=True, metavar="NAME", help="Inherited: MCP servers; several times.")
@say_options
@click.option("--tool-loop", is_flag=True, help="Run the tools that an answer calls, and ask again with the results.")
@click.option("--mcp-config", type=PLACE, metavar="FILE", envvar="HEADISH_MCP_CONFIG",
              help='The MCP servers of --tool-loop: {"mcpServers": {NAME: …}}.  [env: HEADISH_MCP_CONFIG]')  # fmt: skip
@click.option("--yes", is_flag=True, help="Run every tool without asking.")
@click.option("--rounds", type=click.IntRange(min=1), default=20, show_default=True,
              help="How often --tool-loop asks at the most.")  # fmt: skip
@click.option("--compact", type=click.Choice(["auto"]),
              help="Sum up the oldest part first, where the pointer's context window is nearly full.")  # fmt: skip
@call_options
@settings_and_json
def ask_command(
    settings: GlobalOptions, text: str | None, continues: tuple[str, ...], bookmark: str | None, force: bool,
    ptr: str | None, to: str | None, servers: tuple[str, ...], tool_loop: bool, mcp_config: str | None, yes: bool,
    rounds: int, compact: str | None, as_json: bool, timeout: dict[str, float], system: str | None,
    attached: tuple[str, ...],
    options: tuple[str, ...], schema: str | None, settings_pairs: tuple[str, ...], **call: Any,
) -> None:  # fmt: skip
    """Say something to a model, and keep what it answers.

    TEXT becomes a turn of yours, the answer the turn that comes next; a bookmark that is continued moves along.
    Standard input from a pipe or file is added below TEXT and a blank line; - takes standard input alone. Without any
    text, -c asks from the thread as it is. A thread that names no pointer keeps the one that it is asked by: that of -p
    or -m, else the default ('headish ptr default NAME'). The key comes from the provider's usual environment variable
    or a keyring. Ctrl-C keeps what arrived.
    """
    if tool_loop and mcp_config is None:
        raise click.UsageError("--tool-loop needs the servers: --mcp-config FILE")
    if not tool_loop:
        refuse_without("--tool-loop", "mcp_config", "yes", "rounds")
    if bookmark is None:
        refuse_without("--bookmark", "force")
    if system is not None and continues:
        raise click.UsageError(
            "--system begins a thread; on one that exists, say it with 'headish add --role system -c HEADISH TEXT'"
        )
    check_call(call["base_url"])
    said = read_said(text, system, attached, options, schema, settings_pairs, may_be_absent=bool(continues))
    with ExitStack() as stack:
        store = stack.enter_context(settings.open(create=True))
        running = _start_servers(stack, store, mcp_config) if tool_loop and mcp_config is not None else None
        # Without a new turn there is nothing to set the option on, so the thread's own servers stay.
        named = [*servers, *(running.tools() if running and said.content is not None else ())] or None
        given = {**call, "timeouts": timeout or None, "ptr": ptr, "to": to, "params": said.params, "told": _tell_wait}
        heads = continues[0] if len(continues) == 1 else list(continues) or None
        # In both: the advice to ask again, made of `call`, must name the same model.
        call["model"] = given["model"] = choose_model(settings, store, heads, ptr, to, call["model"])
        if compact is not None:
            heads, given["budget"] = _compact(store, heads, ptr, given)
        stored = store.say(
            said.content, continues=heads, bookmark=bookmark, force=force, ptr=ptr, to=to, servers=named,
            model=call["model"], **said.turn,
        )  # fmt: skip
        loop = Loop(store, running, announce_call if yes else approve_call, rounds)
        with _kept(said.content, stored, {"to": to, **call}):
            turn, stopped = _take_rounds(loop, partial(store.open_answer, **given), *stored, as_json)
        tell_branch(store, turn)
        _end(store, turn, {"to": to, **call}, stopped=stopped, looped=running is not None)


@click.command("retry")
@click.argument("headish", default="@")
@click.option("-p", "--ptr", metavar="PTR", help="Ask this provider pointer.")
@click.option("--to", metavar="PROVIDER", help="Ask this provider, without a pointer.")
@call_options
@settings_and_json
def retry_command(settings: GlobalOptions, headish: str, as_json: bool, timeout: dict[str, float], **call: Any) -> None:
    """Ask for another answer in place of HEADISH. Use it for one that was cut off, too.

    The new answer is stored beside the old one, and the bookmark moves to it.
    """
    with settings.open() as store:
        arguments = {**call, "timeouts": timeout or None, "told": _tell_wait}
        turn, stopped = _show(store, lambda: store.open_retry(headish, **arguments), as_json)
        _end(store, turn, call, stopped=stopped)


class Loop(NamedTuple):
    """The settings of the tool loop; without ``running`` servers it has one round."""

    store: Store
    running: ToolServers | None
    approve: Approve
    rounds: int


@contextmanager
def _kept(said: Content | None, asked: tuple[Headishes, str | None], call: dict[str, Any]) -> Iterator[None]:
    """If no answer comes, add to the error that the message is stored, so that the person does not send it again."""
    try:
        yield
    except (HeadishError, KeyboardInterrupt) as error:
        if said is None:
            raise
        if isinstance(error, KeyboardInterrupt):
            say("")  # the terminal has written ^C
        # Leave options that were refused out of the advice: one may be a key, given in place of a variable's name.
        options = _whom(call) if isinstance(error, (CallError, KeyboardInterrupt)) else []
        head, bookmark = asked
        again = shlex.join(["headish", "ask", "-c", f"{bookmark or head}", *options])
        error_class = Stopped if isinstance(error, KeyboardInterrupt) else Told
        reason = sentence(error) if isinstance(error, HeadishError) else "stopped"
        raise error_class(f"{reason}; what you said is kept, and '{again}' asks again") from None


def _whom(call: dict[str, Any]) -> list[str]:
    """The options that ask the same provider again: a thread remembers its pointer, but no other option."""
    return [word for name, option in WHOM.items() if call.get(name) is not None for word in (option, call[name])]


def _take_rounds(
    loop: Loop, open_answer: Callable[..., Answer], head: Headishes, bookmark: str | None, as_json: bool
) -> tuple[Turn, bool]:
    """Ask, run the calls of the answer and ask again, until an answer has no call.

    Returns the last answer, and whether Ctrl-C stopped it.
    """
    if loop.running is not None and isinstance(head, str):
        # The thread may end with open calls, which are run before the model is asked again.
        results = _run_calls(loop, loop.running, head)
        head, bookmark = (head, bookmark) if results is None else (results.id, results.meta.bookmark)
    for rounds_left in reversed(range(loop.rounds)):
        turn, stopped = _show(loop.store, partial(open_answer, head, bookmark), as_json)
        if loop.running is None or stopped or turn.meta.reply.get("incomplete") or not rounds_left:
            return turn, stopped
        results = _run_calls(loop, loop.running, turn.id)
        if results is None:
            return turn, False
        head, bookmark = results.id, results.meta.bookmark
    raise AssertionError("there is at least one round")


def _run_calls(loop: Loop, running: ToolServers, head: str) -> Turn | None:
    from headish.store.asking.origins import is_strangers

    store = loop.store
    # --yes trusts the model that is asked here. Calls that came from a stranger, as in a bundle, need approval.
    approve = approve_call if is_strangers(store, store.get(head).id) else loop.approve
    return store.run_tools(head, running.call_all, approve=approve, told=lambda note: say(f"note: {note}"))


def _show(store: Store, open_answer: Callable[[], Answer], as_json: bool) -> tuple[Turn, bool]:
    """Print an answer as it arrives. Return its turn, and whether Ctrl-C ended it; what arrived is stored."""
    answer = open_answer()
    stopped = show_answer(answer, quiet=as_json)
    turn = answer.finish()
    if as_json:
        print_json(reply_record(store, turn))
    return turn, stopped


def _end(store: Store, turn: Turn, call: dict[str, Any], *, stopped: bool, looped: bool = False) -> None:
    """Report how the answer ended and what it left open, and exit with its code if that is not 0."""
    calls = store.open_calls(turn.id) if turn.meta.role == "assistant" else []
    for each in calls:
        say(f"open call: {describe_call(each)}")
    if calls and looped and not turn.meta.reply.get("incomplete"):
        say("The tool loop ended before the calls: --rounds allows more.")
    where = f" on {turn.meta.bookmark}" if turn.meta.bookmark else ""
    say(f"turn {turn.id}{where}")
    tell_reply(turn, _whom(call))
    if stopped or turn.meta.reply.get("incomplete") or turn.meta.reply.get("schema_error"):
        raise click.exceptions.Exit(INTERRUPTED if stopped else 1)


def _start_servers(stack: ExitStack, store: Store, config: str) -> ToolServers:
    """Start the MCP servers of a file. Store their tools, so that requests offer them and the history has them."""
    from headish.tools.servers import ToolServers, read_config

    running = stack.enter_context(ToolServers(read_config(config)))
    for server, tools in running.tools().items():
        store.tools.set(server, tools)
    return running


def _compact(store: Store, heads: Headishes | None, ptr: str | None, given: dict[str, Any]) -> tuple[Any, Any]:
    """Compact a thread that nearly fills the context window.

    Returns what to continue then, and the budget that cuts the request if it is still too large.
    """
    from headish.store.writing.overlays import compact_when_full

    call = {key: value for key, value in given.items() if key in ("base_url", "key_env", "timeouts", "told")}
    turn = None
    if isinstance(heads, str):
        turn = compact_when_full(store, heads, ptr=ptr, warn=lambda note: say(f"note: {note}"), **call)
    if turn is not None:
        from headish.history.windows.states import describe

        assert turn.meta.attributes.overlay is not None
        say(f"compacted: {describe(turn.meta.attributes.overlay)} (turn {turn.id})")
        # The bookmark moved to the new overlay; without a bookmark, only the overlay's id leads to it.
        heads = heads if heads == turn.meta.bookmark else turn.id
    return heads, given.get("budget") or "auto"


def _tell_wait(attempt: int, delay_seconds: float, error: CallError) -> None:
    say(f"{error}; attempt {attempt + 1} in {delay_seconds:.1f} s")


WHOM = {"ptr": "-p", "to": "--to", "model": "--model", "base_url": "--base-url", "key_env": "--key-env",
        "dialect": "--dialect"}  # fmt: skip
"""The options that choose the receiver of a call, by parameter."""
