"""Turn a request into the call of a verb, and its result into an answer."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from io import BytesIO
from typing import Any, get_args

import msgspec
from blake3 import blake3
from msgspec import UNSET, Struct
from starlette.requests import Request
from starlette.responses import Response

from headish.aio import AsyncStore
from headish.aio.fronts import Turns
from headish.content import strictjson
from headish.errors import InvalidArgument, InvalidContent
from headish.serve.access.callers import within_reach
from headish.serve.access.state import caller_of, enter
from headish.serve.api.fields import Moment
from headish.serve.api.table import KEYED, ApiVerb, BodyForm
from headish.values.blocks import Block, Erased, Other, to_mapping
from headish.values.names import ABSENT
from headish.values.results.conversations import Conversation
from headish.values.results.erasures import Erasure
from headish.values.results.objects import Object
from headish.values.results.plain import as_plain
from headish.values.turns import Turn

SPACE = "space"
"""The query parameter that names the space; no verb has an argument of that name."""
OF_ALL = ("usage", "cost")
"""Verbs that take None for the whole space. A query cannot say None, so an empty list of headishes means it."""
NO_REVISION = "none"
"""The revision in the ETag of a conversation that has no record yet."""
_OF_RECORD = re.compile(rf"({NO_REVISION}|[0-9]{{1,18}})(-[0-9a-f]{{64}})?")
"""The ETag of a record, or its revision alone: 18 digits fit into 64 bits."""


async def call(request: Request, verb: ApiVerb) -> Response:
    """Run a verb for a request, and answer with its result."""
    store = await enter(request, verb.right)
    arguments = await read_arguments(request, verb)
    # A verb that gives a stream takes no limit: `_first` applies it.
    limit = arguments.pop("limit") if verb.form is BodyForm.PAGE else 0
    result: Any = getattr(part_of(store, verb), verb.function)(**arguments)
    if verb.form is BodyForm.PAGE:
        return answer(request, verb, [each async for each in _first(result, limit)])
    outcome = await result
    if isinstance(outcome, Turns):
        outcome = [each async for each in outcome]
    if isinstance(outcome, Erasure):
        outcome = within_reach(outcome, caller_of(request))
    return answer(request, verb, outcome)


def part_of(store: AsyncStore, verb: ApiVerb) -> Any:
    """The object whose method the verb is: the store, or a part of it."""
    return getattr(store, verb.part) if verb.part else store


async def read_arguments(request: Request, verb: ApiVerb) -> dict[str, Any]:
    """Read and check the arguments of a verb. Raises: InvalidArgument; TooLarge for the body."""
    in_query = verb.method == "GET" or verb.form is BodyForm.BODY
    source = _query(request, verb) if in_query else _without_nulls(await _body(request), verb)
    try:
        checked = msgspec.convert(source, verb.arguments, strict=not in_query)  # in a query, numbers are text
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"the arguments of {verb.name}: {error}") from None
    arguments = _given(checked)
    if arguments.get("headish") == [] and verb.function in OF_ALL:
        arguments["headish"] = None
    if verb.form is BodyForm.BODY:
        body = await request.body()
        arguments["source" if verb.function == "import_file" else "document"] = (
            BytesIO(body) if verb.function == "import_file" else body
        )
    return _with_headers(request, verb, arguments)


def _query(request: Request, verb: ApiVerb) -> dict[str, Any]:
    """Read the query, with lists for the arguments that are lists; ``NAME=`` alone is an empty list. A single value
    that is given twice becomes a list, which its type then refuses."""
    list_arguments = {field.name for field in msgspec.structs.fields(verb.arguments) if "list[" in str(field.type)}
    arguments: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        if name in list_arguments and values == [""]:
            values = []
        arguments[name] = values if name in list_arguments or len(values) > 1 else values[0]
    arguments.pop(SPACE, None)
    return arguments


async def _body(request: Request) -> Any:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # A page of another site can send a form or plain text without asking the server first, but not this type.
    if kind != "application/json":
        raise InvalidArgument("the arguments are a JSON object: send it with Content-Type: application/json")
    body = await request.body()
    try:
        return strictjson.decode(body, "the body")
    except InvalidContent as error:
        if not _is_json(body):
            raise InvalidArgument(str(error)) from None
        raise  # it is JSON, but would come back changed (a lone surrogate, for example): a fault of the content


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _without_nulls(body: Any, verb: ApiVerb) -> Any:
    """Drop the arguments that are ``null``, as if they were left out, unless null has a meaning of its own for them."""
    if not isinstance(body, dict):
        return body
    optional = {field.name: field.type for field in msgspec.structs.fields(verb.arguments) if field.default is UNSET}

    def is_left_out(name: str) -> bool:
        return name in optional and type(None) not in get_args(optional[name])

    return {name: value for name, value in body.items() if value is not None or not is_left_out(name)}


def _given(made: Struct) -> dict[str, Any]:
    pairs = ((field, getattr(made, field)) for field in made.__struct_fields__)
    arguments = {name: value for name, value in pairs if value is not UNSET}
    return arguments | {
        name: list(map(_with_moment, arguments[name])) for name in ("items", "messages") if name in arguments
    }


def _with_moment(item: Any) -> Any:
    """Convert the ``said_at`` of an item of ``add_turns`` or a message of ``record``, which is text in JSON."""
    if not isinstance(item, dict) or not isinstance(item.get("said_at"), str):
        return item
    try:
        return {**item, "said_at": msgspec.convert(item["said_at"], Moment)}
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"said_at takes RFC 3339 with a zone, or Unix milliseconds: {error}") from None


def _with_headers(request: Request, verb: ApiVerb, given: dict[str, Any]) -> dict[str, Any]:
    """Add the headers of a writing request to its arguments: ``If-Match`` is ``expect``, ``If-None-Match: *`` expects
    nothing there yet, ``Idempotency-Key`` is the turn's key.

    A verb that cannot keep such a promise refuses the header: whoever sends one counts on it.
    """
    if verb.right == "read":
        return given
    if (match := _header(request, "If-Match")) is not None:
        _say(verb, given, "expect", _expected(verb, match), "If-Match")
    if (absent := _header(request, "If-None-Match")) is not None:
        if absent != "*":
            raise InvalidArgument("If-None-Match of what is written takes *: there is nothing yet")
        _say(verb, given, "expect", ABSENT, "If-None-Match")
    if (key := _header(request, "Idempotency-Key")) is not None:
        if not key.isascii():  # Starlette reads headers as Latin-1: other characters would be stored as others
            raise InvalidArgument("Idempotency-Key takes ASCII; the argument key takes any text")
        _say(verb, given, "key", _unquoted(key), "Idempotency-Key")
    return given


def _header(request: Request, name: str) -> str | None:
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise InvalidArgument(f"{name} is given {len(values)} times")
    return values[0].strip() if values else None


def _say(verb: ApiVerb, given: dict[str, Any], name: str, value: Any, header: str) -> None:
    if name not in verb.arguments.__struct_fields__ or (name == "key" and verb.name not in KEYED):
        raise InvalidArgument(f"{verb.name} takes no {header}")
    if given.setdefault(name, value) != value:
        raise InvalidArgument(f"{header} and {name} do not say the same")


def _expected(verb: ApiVerb, match: str) -> Any:
    """The value of ``expect``: a turn's id as it is, or the revision at the beginning of a record's ETag."""
    tag = _unquoted(match)
    types = {field.name: field.type for field in msgspec.structs.fields(verb.arguments)}
    if str in get_args(types.get("expect")) or (found := _OF_RECORD.fullmatch(tag)) is None:
        return tag  # if it is neither, the verb refuses it
    return ABSENT if found[1] == NO_REVISION else int(found[1])


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


async def _first(stream: Any, limit: int) -> AsyncIterator[Any]:
    """Yield the first ``limit`` items of a stream."""
    async with stream:
        async for each in stream:
            yield each
            limit -= 1
            if limit == 0:
                return


def answer(request: Request, verb: ApiVerb, result: Any) -> Response:
    """Make the answer from the result of a verb, with its ETag; status 304 for a caller that has it already."""
    if verb.form is BodyForm.RAW:
        # A stored document may be a page of a stranger: opened in a browser, it must not run as this server's.
        sandboxed = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox; default-src 'none'"}
        return _tagged(request, Response(result, media_type="application/octet-stream", headers=sandboxed), result)
    return _tagged(request, Response(msgspec.json.encode(plain(result)), media_type="application/json"), result)


def plain(result: Any) -> Any:
    """Convert a result to plain values for JSON."""
    if isinstance(result, Block | Other | Erased):
        return to_mapping(result)
    if hasattr(result, "to_dict"):
        return result.to_dict()
    if isinstance(result, Struct):
        return {name: plain(getattr(result, name)) for name in result.__struct_fields__}
    if isinstance(result, list | tuple):
        return [plain(each) for each in result]
    if isinstance(result, Mapping):
        return {str(key): plain(each) for key, each in result.items()}
    return as_plain(result)


def _tagged(request: Request, made: Response, result: Any) -> Response:
    if request.method not in ("GET", "HEAD"):
        return made
    tag = f'"{etag_of(result, made.body)}"'
    made.headers["ETag"] = tag
    # If-None-Match compares weakly, so W/"x" matches "x" (RFC 9110 §13.1.2).
    client_tags = {
        each.strip().removeprefix("W/") for each in ",".join(request.headers.getlist("if-none-match")).split(",")
    }
    return made if client_tags.isdisjoint((tag, "*")) else Response(status_code=304, headers={"ETag": tag})


def etag_of(result: Any, body: bytes | memoryview) -> str:
    """The ETag of a result: for a turn its seal, with its erasure; otherwise a hash of the answer, because an erasure
    or an overlay changes a thread but not the digest of its last turn. The ETag of a record begins with its revision,
    which ``If-Match`` takes. The hash follows, because a conversation's last turn changes without its revision."""
    if isinstance(result, Turn):
        return result.seal if result.erased is None else f"{result.seal}-e{result.erased}"
    digest = blake3(bytes(body)).hexdigest()
    if isinstance(result, Object | Conversation):
        return f"{NO_REVISION if result.revision is None else result.revision}-{digest}"
    return digest
