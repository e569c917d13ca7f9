"""From a request to the call of a verb, and from its result to an answer."""

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
"""The query's own name for the space; no verb has an argument of that name."""
OF_ALL = ("usage", "cost")
"""Verbs that take no headish at all for the whole space; no query says None."""
NO_REVISION = "none"
"""What stands in an ETag for the revision of a conversation of which nothing is said yet."""
_OF_RECORD = re.compile(rf"({NO_REVISION}|[0-9]{{1,18}})(-[0-9a-f]{{64}})?")
"""The ETag of a record, or its revision alone."""


async def call(request: Request, verb: ApiVerb) -> Response:
    """Run a verb for a request, and answer with what it gives."""
    store = await enter(request, verb.right)
    given = await read_arguments(request, verb)
    result: Any = getattr(part_of(store, verb), verb.function)(**given)
    if verb.form is BodyForm.PAGE:
        return answer(request, verb, [each async for each in _first(result, request)])
    given_back = await result
    if isinstance(given_back, Turns):
        given_back = [each async for each in given_back]
    if isinstance(given_back, Erasure):
        given_back = within_reach(given_back, caller_of(request))
    return answer(request, verb, given_back)


def part_of(store: AsyncStore, verb: ApiVerb) -> Any:
    """The object that has the verb."""
    return getattr(store, verb.part) if verb.part else store


async def read_arguments(request: Request, verb: ApiVerb) -> dict[str, Any]:
    """The arguments of a verb, checked. Raises: InvalidArgument; TooLarge for the body."""
    in_query = verb.method == "GET" or verb.form is BodyForm.BODY
    source = _query(request, verb) if in_query else _without_nulls(await _body(request), verb)
    try:
        made = msgspec.convert(source, verb.arguments, strict=not in_query)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"the arguments of {verb.name}: {error}") from None
    given = _given(made)
    if given.get("headish") == [] and verb.function in OF_ALL:
        given["headish"] = None
    if verb.form is BodyForm.PAGE:
        del given["limit"]
    if verb.form is BodyForm.BODY:
        body = await request.body()
        given["source" if verb.function == "import_file" else "document"] = (
            BytesIO(body) if verb.function == "import_file" else body
        )
    return _with_headers(request, verb, given)


def _query(request: Request, verb: ApiVerb) -> dict[str, Any]:
    """The query, with a list where the argument is one; ``NAME=`` alone is an empty one. What is given twice is refused
    by its type."""
    listed = {field.name for field in msgspec.structs.fields(verb.arguments) if "list[" in str(field.type)}
    found: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        if name in listed and values == [""]:
            values = []
        found[name] = values if name in listed or len(values) > 1 else values[0]
    found.pop(SPACE, None)
    return found


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
        raise  # JSON that would come back changed


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _without_nulls(body: Any, verb: ApiVerb) -> Any:
    """Drop ``null``, as None means for the verb, except where null has a meaning of its own."""
    if not isinstance(body, dict):
        return body
    optional = {field.name: field.type for field in msgspec.structs.fields(verb.arguments) if field.default is UNSET}

    def is_left_out(name: str) -> bool:
        return name in optional and type(None) not in get_args(optional[name])

    return {name: value for name, value in body.items() if value is not None or not is_left_out(name)}


def _given(made: Struct) -> dict[str, Any]:
    found = ((field, getattr(made, field)) for field in made.__struct_fields__)
    given = {name: value for name, value in found if value is not UNSET}
    return given | {name: list(map(_with_moment, given[name])) for name in ("items", "messages") if name in given}


def _with_moment(item: Any) -> Any:
    """An item of ``add_turns``, or a message of ``record``, whose ``said_at`` is text in JSON."""
    if not isinstance(item, dict) or not isinstance(item.get("said_at"), str):
        return item
    try:
        return {**item, "said_at": msgspec.convert(item["said_at"], Moment)}
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"said_at takes RFC 3339 with a zone, or Unix milliseconds: {error}") from None


def _with_headers(request: Request, verb: ApiVerb, given: dict[str, Any]) -> dict[str, Any]:
    """With what the headers of a writing request say: ``If-Match`` is ``expect``, ``If-None-Match: *`` that there is
    nothing yet, ``Idempotency-Key`` is the turn's key.

    A verb refuses what it cannot promise: whoever sends such a header counts on it.
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
        if not key.isascii():
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
    """What ``expect`` takes: a turn's id as it stands there, or the revision with which the ETag of a record begins."""
    tag = _unquoted(match)
    types = {field.name: field.type for field in msgspec.structs.fields(verb.arguments)}
    if str in get_args(types.get("expect")) or (found := _OF_RECORD.fullmatch(tag)) is None:
        return tag  # what is neither is refused by the verb
    return ABSENT if found[1] == NO_REVISION else int(found[1])


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


async def _first(stream: Any, request: Request) -> AsyncIterator[Any]:
    """The first items of a stream: as many as the checked ``limit`` says."""
    left = int(request.query_params.get("limit", 100))
    async with stream:
        async for each in stream:
            yield each
            left -= 1
            if left == 0:
                return


def answer(request: Request, verb: ApiVerb, result: Any) -> Response:
    """The result of a verb, with its ETag; status 304 for a caller that has it already."""
    if verb.form is BodyForm.RAW:
        sandboxed = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox; default-src 'none'"}
        return _tagged(request, Response(result, media_type="application/octet-stream", headers=sandboxed), result)
    return _tagged(request, Response(msgspec.json.encode(plain(result)), media_type="application/json"), result)


def plain(result: Any) -> Any:
    """A result as JSON says it."""
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
    asked = {each.strip().removeprefix("W/") for each in ",".join(request.headers.getlist("if-none-match")).split(",")}
    return made if asked.isdisjoint((tag, "*")) else Response(status_code=304, headers={"ETag": tag})


def etag_of(result: Any, body: bytes | memoryview) -> str:
    """What changes when a result does: a turn's seal, with its erasure; else a hash of the answer, since an erasure or
    an overlay changes a thread and not the digest of its last turn. That of a record begins with its revision, which
    ``If-Match`` takes; the last turn of a conversation changes without it."""
    if isinstance(result, Turn):
        return result.seal if result.erased is None else f"{result.seal}-e{result.erased}"
    digest = blake3(bytes(body)).hexdigest()
    if isinstance(result, Object | Conversation):
        return f"{NO_REVISION if result.revision is None else result.revision}-{digest}"
    return digest
