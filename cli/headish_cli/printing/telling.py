"""Report a turn that the command just stored: the id on stdout, the rest on stderr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from headish_cli.printing.output import content_of, one_line, print_json, say

if TYPE_CHECKING:
    from headish import Store, Turn
    from headish.values.results.reports import JudgedSignature


def turn_record(turn: Turn) -> dict[str, Any]:
    """A turn as JSON: its record, and the options that are resolved at it."""
    return {**timed_record(turn), "options": turn.options}


def timed_record(turn: Turn) -> dict[str, Any]:
    """A turn's record with its two times: when it was stored, and when it was said."""
    times = {"time": turn.time, "said_at": turn.said_at}
    return turn.to_dict() | {name: each.isoformat(timespec="milliseconds") for name, each in times.items()}


def version_record(version: tuple[int, int] | None) -> dict[str, int]:
    """Which of how many versions a turn is; empty if it is the only one."""
    return {} if version is None else {"version": version[0], "versions": version[1]}


def signature_record(turn: Turn, signed: Mapping[str, Sequence[JudgedSignature]] | None) -> dict[str, Any]:
    """The signatures of a turn; empty if none were asked for."""
    return {} if signed is None else {"signatures": [each.to_dict() for each in signed.get(turn.id, ())]}


def reply_record(store: Store, turn: Turn) -> dict[str, Any]:
    """``turn_record`` and, for a reply, its message in the neutral form of all providers' replies."""
    from headish.values.blocks import to_mapping

    reply = turn.meta.reply
    if not reply:
        return turn_record(turn)
    content = [to_mapping(block) for block in content_of(store, turn.id)]
    message: dict[str, Any] = {"role": "assistant", "content": content}
    message |= {"model": reply.get("model"), "stop_reason": reply.get("stop_reason")}
    message |= {"usage": reply["usage"]} if "usage" in reply else {}
    return {**turn_record(turn), "reply": {"message": message}}


def tell_turn(store: Store, turn: Turn, as_json: bool, *, known: bool = False) -> None:
    """Print a stored turn: its id, or all of it as JSON. Report what may be unexpected.

    That is: nothing was stored, because its key was ``known``; or no bookmark moved.
    """
    if as_json:
        print_json(turn_record(turn))
    else:
        click.echo(turn.id)
    if known:
        say("Nothing was stored: the key is that of a turn that says the same.")
    else:
        tell_branch(store, turn)


def tell_branch(store: Store, turn: Turn) -> None:
    """Report that no bookmark moved, if others continue the same turn; and which turns the handles name."""
    tell_continued(store)
    if turn.meta.bookmark is None and _is_branch(store, turn):
        say(f"No bookmark moved: an older turn was continued, so {turn.id} is a new branch without a name.")


def tell_continued(store: Store) -> None:
    """Report which turns the handles of the command line name: a mistyped bookmark may look like a handle."""
    from headish.values.grammar import parse_headish

    # From the command line itself, since the library has already resolved the handles.
    params = click.get_current_context().params
    typed = params.get("continues") or params.get("headish") or ()
    for text in (typed,) if isinstance(typed, str) else typed:
        parsed = parse_headish(text)
        if parsed.handle is not None and store.bookmarks.get(parsed.name or "") is None:
            turn = store.get(text)
            words = one_line(" ".join(store.text(turn.id).split()), 60)
            say(f"{text} is {turn.id}, {turn.meta.role or 'a bare sequence'}{f': {words}' if words else ''}")


def tell_reply(turn: Turn, whom: Sequence[str] = ()) -> None:
    """Report what is out of the ordinary about a reply. ``whom`` are the options of the command that asked for it."""
    reply = turn.meta.reply
    error = reply.get("error")
    if isinstance(error, dict):
        who = "The provider failed: " if reply.get("stop_reason") == "error" else ""
        say(f"{who}{error.get('message')}")
    if reply.get("stop_reason") == "max_tokens":
        say("The answer ends at a limit of tokens: params.max_tokens, or the model's own.")
    # Quoted for a shell: the options of the call go into the advice as they were typed.
    if reply.get("incomplete"):
        import shlex

        say(f"The answer is incomplete: '{shlex.join(['headish', 'retry', turn.id, *whom])}' asks again.")
        if _is_kept(turn):
            say("Its provider keeps it: 'headish recover --remote --wait 60' fetches it instead.")
    if reply.get("schema_error"):
        say(f"The answer is kept, but does not follow its schema: {reply['schema_error']}")
    if reply.get("schema_unchecked"):
        say(f"note: the answer is not checked against its schema: {reply['schema_unchecked']}")
    for note in reply.get("notes") or ():
        say(f"note: {note}")


def _is_kept(turn: Turn) -> bool:
    """Whether the request had the provider keep the answer, and the answer's id at the provider is known."""
    reply, provider = turn.meta.reply, "openai_responses"
    if reply.get("provider") != provider or not reply.get("response_id"):
        return False
    params = reply.get("params") or {}
    records = [each for each in (params, params.get(provider)) if isinstance(each, dict)]
    return any(each.get(key) is True for each in records for key in ("store", "background"))


def _is_branch(store: Store, turn: Turn) -> bool:
    """Whether another turn continues one of its parents."""
    return any(len(store.children(parent)) > 1 for parent in turn.meta.continues)
