"""``chat``: converse at the terminal, with commands that begin with a slash."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any

import click

from headish.errors import HeadishError, UnknownPointer, UnknownTurn
from headish_cli.commands.talking.asking import call_options, call_settings
from headish_cli.commands.talking.conversation import NOTHING, ChatSession
from headish_cli.commands.talking.lines import Lines, open_lines
from headish_cli.commands.talking.saying import choose_model, read_params
from headish_cli.options import INTERRUPTED, GlobalOptions
from headish_cli.printing.hints import told_by_system
from headish_cli.printing.output import Told, one_line, room_beside, say, sentence

TREE_TURNS = 40
HELP_HINT = "/help lists the commands; a line that begins with a slash is sent as //."


@click.command("chat")
@click.argument("name", required=False, metavar="[NAME|HEADISH]")
@click.option("-p", "--ptr", metavar="PTR", help="Ask this provider pointer, from now on.")
@click.option("--to", metavar="PROVIDER", help="Ask this provider, without a pointer.")
@click.option("-s", "--system", metavar="TEXT", help="Begin with this system message.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE",
              help="A parameter for the calls of this chat, as temperature=0.2; kept beside each reply.")  # fmt: skip
@call_options
@click.pass_context
def chat_command(
    ctx: click.Context, /, name: str | None, ptr: str | None, to: str | None, system: str | None,
    options: tuple[str, ...], **call: Any,
) -> None:  # fmt: skip
    """Talk to a model at the terminal; each line becomes a turn, and so does each answer.

    A NAME that is a bookmark continues, and moves along; any other begins a conversation of that name. Without a NAME
    the conversation has none until /fork gives it one. Ctrl-C ends an answer and keeps what arrived; Ctrl-D leaves.
    Where there is no terminal, each line of standard input is a message.

    \b
    /help              what there is
    /edit [TEXT]       change your last line and ask again; alone: in an editor
    /retry [MODEL]     ask again for the last answer, or ask another model for it
    /model [NAME]      whom to ask from now on: a pointer, else a model
    /attach FILE|URL   send it along with the next line
    /undo [N]          take back your last line and its answer; they stay stored
    /fork NAME         go on under another name; the old one stays where it is
    /tree              the branches around here
    /quit              leave
    \"""                begins and ends a message of several lines
    """
    settings: GlobalOptions = ctx.obj
    with settings.open(create=True) as store:
        is_bookmark, head = _find(store, name)
        if system is not None and (is_bookmark or head):
            raise click.UsageError(
                f"--system begins a conversation; on one that exists, say it with "
                f"'headish add --role system -c {name} TEXT'"
            )
        call["model"] = choose_model(settings, store, name if is_bookmark else head, ptr, to, call["model"])
        arguments = {**call_settings(call), "to": to, "params": read_params(options) or None}
        first_turn = {key: value for key, value in (("system", system), ("ptr", ptr)) if value is not None}
        conversation = ChatSession(store, None if head else name, head, arguments, first_turn)
        # Before the greeting: a person should not type a message that nobody can answer.
        _check_who(conversation, ptr)
        lines = open_lines(conversation.said_before, (f"/{each}" for each in COMMANDS))
        _greet(conversation, lines)
        failed = _talk(ctx, conversation, lines)
        _part(conversation, lines)
    # At a terminal, the person has seen it.
    if failed and not lines.at_terminal:
        raise click.exceptions.Exit(1)


def _find(store: Any, name: str | None) -> tuple[bool, str | None]:
    """Return whether ``name`` is a bookmark, and the turn that any other headish names. A new name is neither.

    Raises: UnknownTurn; InvalidName.
    """
    from headish.values.grammar import parse_headish
    from headish.values.names import check_name

    if name is None or name in store.bookmarks:
        return name is not None, None
    try:
        return False, store.get(name).id
    except UnknownTurn:
        if parse_headish(name).bookmark is None:
            raise
        # Now, and not after the first message was typed.
        check_name(name, is_new=True)
        return False, None


def _check_who(conversation: ChatSession, ptr: str | None) -> None:
    """Refuse a chat without a receiver before the person types anything. Raises: UnknownPointer."""
    if ptr is not None:
        _ = conversation.store.pointers[ptr]
    if conversation.who() is None:
        raise UnknownPointer(None)


def _greet(conversation: ChatSession, lines: Lines) -> None:
    if lines.at_terminal:
        for line in conversation.last_words():
            say(line)
        say(f"Asking {conversation.describe_who()}. /help lists the commands.")


def _part(conversation: ChatSession, lines: Lines) -> None:
    at = conversation.at()
    if lines.at_terminal and at is not None:
        named = "" if conversation.name else f"; 'headish bookmark set NAME {at}' gives it a name"
        say(f"'headish chat {at}' goes on{named}.")


def _talk(ctx: click.Context, conversation: ChatSession, lines: Lines) -> bool:
    """Take lines until the input ends or the person leaves. Return whether any answer failed.

    At a terminal an error is reported, and the chat goes on. Elsewhere it ends the chat: the next line was written for
    an answer that did not come.
    """
    failed = False
    while (line := lines.read(conversation.prompt)) is not None:
        try:
            if not _take(ctx, conversation, line):
                break
        except Exception as error:
            if not lines.at_terminal or not _tell(error, conversation.unanswered and _asks(line)):
                raise
        except KeyboardInterrupt:
            if not lines.at_terminal:
                raise
            say("Stopped" + (KEPT if conversation.unanswered else ""))
        # Ctrl-C in a script means the script, not this one answer.
        if conversation.stopped and not lines.at_terminal:
            raise click.exceptions.Exit(INTERRUPTED)
        failed = failed or conversation.failed
    return failed


def _take(ctx: click.Context, conversation: ChatSession, line: str) -> bool:
    """Send a line, or run the command in it. Return False if it leaves the chat."""
    if not line.startswith("/") or line.startswith("//"):
        text = line.removeprefix("/") if line.startswith("//") else line
        conversation.say(text)
        return True
    word, _, rest = line[1:].strip().partition(" ")
    command = COMMANDS.get(word)
    if command is None:
        raise Told(f"there is no command /{one_line(word, 40)}. {HELP_HINT}")
    if word in LEAVING:
        return False
    command(ctx, conversation, rest.strip())
    return True


def _asks(line: str) -> bool:
    """Whether a line asks the model, so that /retry can follow a failure."""
    return not line.startswith("/") or line.startswith("//") or line[1:].split(maxsplit=1)[:1] in (["retry"], ["edit"])


def _tell(error: Exception, is_kept: bool) -> bool:
    """Report an error after which the chat can go on; return False for any other.

    ``is_kept`` adds that the message is stored and has no answer yet.
    """
    if isinstance(error, HeadishError):
        words = sentence(error)
    elif isinstance(error, click.ClickException):
        words = error.format_message()
    elif isinstance(error, OSError):
        words = told_by_system(error)
    else:
        return False
    say(f"headish: {words}" + (KEPT if is_kept else ""))
    return True


def _help(ctx: click.Context, _conversation: ChatSession, _rest: str) -> None:
    # The list in the command's own help, so that there is one list.
    text = cleandoc(chat_command.help or "")
    click.echo(text.partition("\b\n")[2], err=True)


def _retry(_ctx: click.Context, conversation: ChatSession, rest: str) -> None:
    conversation.retry(rest or None)


def _model(_ctx: click.Context, conversation: ChatSession, rest: str) -> None:
    if rest:
        conversation.ask_from_now_on(rest)
    say(f"Asking {conversation.describe_who()}.")


def _attach(_ctx: click.Context, conversation: ChatSession, rest: str) -> None:
    if rest:
        conversation.attach(rest)
    for place in conversation.attached:
        say(f"attached: {place}")
    if not conversation.attached:
        say("Nothing is attached: /attach FILE or /attach URL.")


def _edit(_ctx: click.Context, conversation: ChatSession, rest: str) -> None:
    if not rest:
        turn, _ = conversation.last_said()
        # click returns None if the editor saved nothing.
        rest = (click.edit(conversation.store.text(turn.id)) or "").strip()
    if not rest:
        raise Told("/edit takes what is to be said instead")
    conversation.edit(rest)


def _undo(_ctx: click.Context, conversation: ChatSession, rest: str) -> None:
    if rest and not (rest.isascii() and rest.isdigit() and len(rest) < 10):
        raise Told("/undo takes a number: how many of your lines to take back")
    for words in conversation.undo(int(rest or 1)):
        say(f"taken back: {one_line(words, room_beside('taken back: '))}")


def _fork(_ctx: click.Context, conversation: ChatSession, rest: str) -> None:
    if not rest:
        raise Told("/fork takes a NAME for what comes next")
    old = conversation.name or "what was said so far"
    conversation.fork(rest)
    say(f"Going on as {rest}; {old} stays where it is.")


def _tree(ctx: click.Context, conversation: ChatSession, _rest: str) -> None:
    from headish_cli.commands.drawing import tree_command

    at = conversation.at()
    if at is None:
        raise Told(NOTHING)
    ctx.invoke(tree_command, headish=at, limit=TREE_TURNS, as_json=False)


def _quit(_ctx: click.Context, _conversation: ChatSession, _rest: str) -> None:
    """Do nothing: ``_take`` leaves before it would call this."""


KEPT = "; what you said is kept, and /retry asks again"
LEAVING = ("quit", "exit")
COMMANDS: dict[str, Callable[[click.Context, ChatSession, str], None]] = {
    "attach": _attach, "edit": _edit, "exit": _quit, "fork": _fork, "help": _help, "model": _model, "quit": _quit,
    "retry": _retry, "tree": _tree, "undo": _undo,
}  # fmt: skip
"""The commands of a chat by name. Each takes the rest of its line."""
