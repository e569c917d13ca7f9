"""Write the page of the HTTP API, and its OpenAPI document, from the table of verbs."""

from __future__ import annotations

from msgspec import NODEFAULT
from msgspec.structs import fields

from headish.serve.access.problems import statuses
from headish.serve.api.openapi import document
from headish.serve.api.table import ARGUMENTS_NOT_SERVED, NOT_SERVED, VERBS, ApiVerb

HEAD = """# The HTTP API

<!-- Written by docs/generate.py. -->

`headish serve` offers the verbs of a store under `/api/v1`. A verb takes the arguments of its namesake in
[the library](library.md) and gives what its `to_dict()` gives. [openapi.json](openapi.json) describes all of it in
OpenAPI 3.1, also at `/api/v1/openapi.json` of a running server ([for TypeScript](../how-to/use-from-typescript.md)).

```sh
headish token add laptop --right read --right write
curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8321/api/v1/text?headish=main
```

- **Tokens.** `headish token add` makes one for a space, with the rights that you name. A space in which a token has no
  right is unknown. `?space=` names a space; without it, the token's is used.
- **Arguments.** `GET` takes them in the query, a list as the same name several times. `POST` takes a JSON object with
  `Content-Type: application/json`. `add_document` and `import_file` take the file as the body, up to the payload limit,
  and their arguments in the query. Any other body has at most 1 MB. An unknown argument is refused. `null` in a body
  counts as absent; `NAME=` in a query is an empty list. `usage` and `cost` count the whole space without a headish
  (`headish=`, `[]`). A time is RFC 3339 with a zone.
- **Lists** have at most 500 entries (`limit`, 100 if you leave it out). `after` continues behind the last entry: pass
  its id or name, or the answer's own `after`.
- **ETag.** A turn's is its seal, any other a hash of the answer, which begins with the revision for an object or a
  conversation. `If-None-Match` gets status 304 where nothing has changed.
- **Conditions.** `If-Match` is the argument `expect`: the id of the turn that a name must name, or the ETag of the
  record to be changed. `If-None-Match: *` says that there must be nothing yet. Otherwise the answer is status 412.
- **Sending again.** `Idempotency-Key` of `add_turn` and `add_document` is the argument `key`, with or without quotes.
  headish stores the same turn under the same key once; another turn gets status 409. A key belongs to its space and
  never expires, even if its turn is erased. A verb refuses a condition or a key that it does not take.
- **Changes.** `GET /api/v1/follow` is a stream of server-sent events. The `id` of an event is the cursor behind it;
  `Last-Event-ID` continues there.
- **Answers.** `ask` and `retry` give the turn. With `Accept: text/event-stream` they give `delta` for each piece as it
  arrives, then `turn`, or `problem`. If you close the connection, the call ends and what arrived is stored.
- **Errors** are `application/problem+json` (RFC 9457). `code` is the class of the error, `facts` are its attributes:
  `BookmarkMoved` says in `facts.actual` where the bookmark is. The document lists the errors of each verb.

"""


def write_http_api() -> str:
    """Return the text of the page."""
    served = "\n".join(_row(verb) for verb in VERBS)
    apart = "\n".join(f"| `{name}` | {why} |" for name, why in NOT_SERVED.items())
    arguments = "\n".join(f"| `{name}` | {why} |" for name, why in ARGUMENTS_NOT_SERVED.items())
    errors = "\n".join(f"| {status} | {', '.join(f'`{name}`' for name in names)} |" for status, names in statuses())
    return (
        f"{HEAD}## Errors\n\n| status | class, and those below it |\n|---|---|\n{errors}\n\n"
        f"## Verbs\n\n| verb | right | arguments |\n|---|---|---|\n{served}\n\n"
        f"## Not served\n\n| verb | why: it |\n|---|---|\n{apart}\n\n| argument | why: it |\n|---|---|\n{arguments}\n"
    )


def _row(verb: ApiVerb) -> str:
    needed = set(verb.arguments.__struct_fields__) - set(_optional(verb))
    names = [f"**{name}**" if name in needed else name for name in verb.arguments.__struct_fields__]
    return f"| `{verb.method} {verb.path}` | {verb.right} | {', '.join(names)} |"


def _optional(verb: ApiVerb) -> list[str]:
    return [
        field.name
        for field in fields(verb.arguments)
        if field.default is not NODEFAULT or field.default_factory is not NODEFAULT
    ]


def write_openapi() -> str:
    """Return the OpenAPI document."""
    return document().decode()
