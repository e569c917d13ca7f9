"""``/calls``: the calls that passed the gateway, with their clients, their tokens and where their prefixes broke; and
the gateway's problems, such as calls that were not recorded."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from headish.aio import AsyncStore
from headish.content.prices import Prices
from headish.errors import InputError
from headish.serve.access.state import caller_of, enter, state_of
from headish.serve.pages.drawing import draw, links_of
from headish.serve.pages.money import reply_of_call, say_reply_cost
from headish.serve.pages.turns import say_tokens
from headish.values.ids import TurnId
from headish.values.results.calls import PassedCall, PrefixBreak, fold_refusals

LISTED = 50
WHOLE_BODY = " (at $)"
"""The end of an error about a body as a whole: a path into JSON that nobody sees here."""
HEALTH_SECONDS = 1.0
"""How long the page waits for the gateway's health."""


class ShownCall(Struct, frozen=True):
    """A call: the turn that its link leads to, the bookmark of its conversation, and in words its tokens, its cost, how
    it ended, its error and where its prefix broke."""

    call: PassedCall
    turn: TurnId | None
    name: str | None
    tokens: str
    cost: str
    ending: str
    error: str
    broke: str


class GatewayHealth(Struct, frozen=True):
    """The field of the gateway's ``/healthz`` that the page needs."""

    problems: list[str]


async def show_calls(request: Request) -> Response:
    """Show the calls, the newest first; with ``name``, those of the conversation of a bookmark."""
    store = await enter(request, "read")
    name = request.query_params.get("name", "").strip() or None
    calls = await store.calls.list(name, before=request.query_params.get("before") or None, limit=LISTED + 1)
    shown, link, prices = calls[:LISTED], links_of(request), state_of(request).prices
    older = link("/calls", name=name, before=shown[-1].id) if len(calls) > LISTED else ""
    turns = [turn for call in shown for turn in (call.answer, call.tip, _broken_turn(call)) if turn is not None]
    names = {lane: await _name_of(store, lane) for lane in {call.lane for call in shown if call.lane}}
    # The gateway's problems count calls of the whole server: a caller of a single space must not see them.
    gateway = state_of(request).settings.gateway if caller_of(request).space is None else None
    folded = [_show(each, count, names, prices) for each, count in fold_refusals(shown)]
    return await draw(
        request, "calls.html", name=name, older=older, calls=folded,
        handles=await store.abbreviate(list(dict.fromkeys(turns))), problems=await _find_problems(gateway),
        has_gateway=state_of(request).settings.gateway is not None,
    )  # fmt: skip


def _show(call: PassedCall, count: int, names: dict[str, str | None], prices: Prices | None) -> ShownCall:
    facts = call.facts
    return ShownCall(
        call=call,
        turn=call.answer or call.tip,
        name=names.get(call.lane or ""),
        tokens=say_tokens(facts.usage),
        cost=say_reply_cost(reply_of_call(call), call.time, prices),
        ending=f"status {call.facts.status}, {count} times" if count > 1 else _say_ending(call),
        error=(facts.error or "").removesuffix(WHOLE_BODY),
        broke="" if facts.broke is None else _say_break(facts.broke),
    )


def _say_ending(call: PassedCall) -> str:
    """How a call ended, in words; empty if it succeeded."""
    facts = call.facts
    if facts.outcome != "ok":
        return _ENDINGS.get(facts.outcome, facts.outcome)
    return f"status {facts.status}" if facts.status is not None and facts.status >= 400 else ""


def _say_break(broke: PrefixBreak) -> str:
    where = "message " + str(broke.index) if broke.what == "message" else f"the {_PARTS.get(broke.what, broke.what)}"
    cost = f", about {broke.tokens:,} tokens were read anew" if broke.tokens else ""
    return f"The prompt cache ended at {where}{cost}."


def _broken_turn(call: PassedCall) -> TurnId | None:
    return None if call.facts.broke is None else call.facts.broke.turn


async def _name_of(store: AsyncStore, lane: str) -> str | None:
    """The bookmark of the conversation that a call belongs to, if it still has one."""
    try:
        return (await store.conversations.find(lane)).name
    except InputError:
        return None


async def _find_problems(gateway: str | None) -> list[str]:
    """The problems that the gateway reports; nothing if none runs."""
    if gateway is None:
        return []
    import httpx2 as httpx  # late: the first page need not wait for it

    try:
        # The gateway is on this machine, so the request must not go through a proxy of the environment.
        async with httpx.AsyncClient(timeout=HEALTH_SECONDS, trust_env=False) as client:
            answer = await client.get(f"{gateway}/healthz")
        return msgspec.json.decode(answer.content, type=GatewayHealth).problems
    except (httpx.HTTPError, httpx.InvalidURL, msgspec.MsgspecError):
        return ["the gateway does not say how it is"]


_ENDINGS = {
    "broken": "the provider broke off",
    "client gone": "the client went away",
    "unreachable": "the provider was out of reach",
    "unrecorded": "not recorded",
}
_PARTS = {"system": "system prompt", "tools": "tools"}
