"""The routes of ``/api/v1``, as a table: each verb of a store, the right that it takes, and its arguments.

``GET`` reads, with the arguments in the query; ``POST`` takes them as a JSON object. A verb of a part has the part's
name before its own: ``/api/v1/bookmarks/list``. The reference of the store describes each verb.

``NOT_SERVED`` lists the verbs that have no route. No argument names a file of the server, an address, a header or the
variable of a key: whoever may ask a model here must not be able to send a key elsewhere.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, NamedTuple

from msgspec import Struct

from headish.serve.api import fields as of
from headish.serve.api.fields import Field, make_arguments
from headish.values.access.tokens import Right


class BodyForm(Enum):
    """How a verb takes its content and gives its result."""

    JSON = "application/json"
    RAW = "application/octet-stream"
    """Gives bytes."""
    BODY = "body"
    """Takes the body as it is; its arguments are in the query."""
    PAGE = "page"
    """Gives the first items of a stream."""
    EVENTS = "text/event-stream"
    ANSWER = "answer"
    """An answer of a model: JSON, or events for callers that accept them."""


class ApiVerb(NamedTuple):
    """A row of the table."""

    name: str
    right: Right
    method: Literal["GET", "POST"]
    arguments: type[Struct]
    form: BodyForm = BodyForm.JSON

    @property
    def path(self) -> str:
        """The path below ``/api/v1``."""
        return "/" + self.name.replace(".", "/")

    @property
    def part(self) -> str | None:
        """The part of the store that has the verb; None for the store itself."""
        return self.name.rpartition(".")[0] or None

    @property
    def function(self) -> str:
        """The name of the verb's method."""
        return self.name.rpartition(".")[2]


def _named(name: str) -> str:
    return "".join(word.title() for word in name.replace(".", "_").split("_")) + "Arguments"


def _reads(name: str, form: BodyForm = BodyForm.JSON, /, **fields: Field) -> ApiVerb:
    return ApiVerb(name, "read", "GET", make_arguments(_named(name), fields), form)


def _computes(name: str, /, **fields: Field) -> ApiVerb:
    """A verb that reads, with arguments that do not fit into a query."""
    return ApiVerb(name, "read", "POST", make_arguments(_named(name), fields))


def _writes(name: str, form: BodyForm = BodyForm.JSON, /, **fields: Field) -> ApiVerb:
    return ApiVerb(name, "write", "POST", make_arguments(_named(name), fields), form)


def _erases(name: str, /, **fields: Field) -> ApiVerb:
    return ApiVerb(name, "erase", "POST", make_arguments(_named(name), fields))


_PLACED = {"continues": of.CONTINUES, "bookmark": of.TEXT, "force": of.FLAG}
_DOCUMENT = {
    **_PLACED, "role": of.TEXT, "respond": of.FLAG, "moves": of.FLAG, "expect": of.TEXT, "provider_ptr": of.TEXT,
    "servers": of.WORDS, "search": of.FLAG, "tool_mode": of.TEXT, "cache": of.CACHE, "said_at": of.SAID_AT,
    "key": of.TEXT, "supersedes": of.TEXT, "copy_of": of.TEXT,
}  # fmt: skip
_TURN = {
    **_DOCUMENT, "inherited": of.RECORD, "json": of.FLAG, "form": of.TEXT, "attributes": of.RECORD, "meta": of.RECORD,
}  # fmt: skip
_COVERED = {"first": of.HEADISH, "last": of.OTHER, "continues": of.OTHER, "expect": of.TEXT}
_ASKED = {"ptr": of.TEXT, "to": of.TEXT, "model": of.TEXT}
_ERASED = {"reason": of.NEEDED, "by": of.TEXT, "dry_run": of.FLAG, "scrub": of.FLAG}

VERBS: tuple[ApiVerb, ...] = (
    # Read
    _reads("get", headish=of.HEADISH),
    _reads("find", key=of.NEEDED),
    _reads("payload", BodyForm.RAW, headish=of.HEADISH),
    _reads("blocks", headish=of.HEADISH),
    _reads("text", headish=of.HEADISH),
    _reads("contents", ids=of.LISTED),
    _reads("abbreviate", ids=of.LISTED),
    _reads("children", headish=of.HEADISH, limit=of.LIMIT, after=of.TEXT, versions=of.FLAG),
    _reads("heads", limit=of.LIMIT, after=of.TEXT, by=of.one_of("start", "tip"), erased=of.FLAG, versions=of.FLAG,
           twins=of.FLAG),
    _reads("log", headish=of.NEWEST, limit=of.LIMIT, since=of.TIME, until=of.TIME, role=of.TEXT, grep=of.TEXT),
    _reads("messages", headish=of.NEWEST, limit=of.LENGTH, form=of.TEXT, drop=of.WORDS),
    _reads("turns", BodyForm.PAGE, after=of.TEXT, limit=of.LIMIT),
    _reads("thread", headish=of.HEADISHES),
    _reads("tree", headish=of.NEWEST, limit=of.LIMIT, versions=of.FLAG),
    _reads("stretch", headish=of.NEWEST, around=of.OTHER, start=of.NUMBER, limit=of.LIMIT, onward=of.FLAG),
    _reads("resolve", headish=of.HEADISHES, raw=of.FLAG, budget=of.NUMBER),
    _reads("options", headish=of.HEADISHES),
    _reads("render", headish=of.NEWEST, format=of.TEXT, branches=of.FLAG, title=of.TEXT),
    _reads("export", headish=of.HEADISHES, format=of.TEXT, drop=of.WORDS, as_user=of.FLAG, with_reasoning=of.FLAG,
           for_completion=of.FLAG, for_training=of.FLAG, policy=of.TEXT, tight=of.FLAG, raw=of.FLAG),
    _reads("search", query=of.TEXT, role=of.TEXT, model=of.TEXT, name=of.TEXT, tag=of.TEXT, tool=of.TEXT,
           fields=of.WORDS, since=of.MOMENT, until=of.MOMENT, order=of.TEXT, limit=of.LIMIT, versions=of.FLAG,
           twins=of.FLAG),
    _reads("siblings", headish=of.HEADISH, versions=of.FLAG),
    _reads("versions", ids=of.LISTED),
    _reads("signatures", ids=of.LISTED),
    _reads("diff", first=of.HEADISH, second=of.OTHER),
    _reads("open_calls", headish=of.NEWEST),
    _reads("original", **_COVERED),
    _reads("tokens", headish=of.HEADISHES, model=of.TEXT, ptr=of.TEXT),
    _reads("usage", headish=of.HEADISHES, by=of.TEXT),
    _reads("stats", versions=of.FLAG),
    _reads("verify"),
    _reads("position"),
    _reads("audit", BodyForm.PAGE, after=of.TEXT, since=of.MOMENT, until=of.MOMENT, author=of.TEXT,
           kinds=of.WORDS, limit=of.LIMIT),
    _reads("follow", BodyForm.EVENTS, after=of.TEXT, wait=of.FLAG, kinds=of.WORDS, bookmark=of.TEXT),
    _reads("lint", headish=of.HEADISHES, ptr=of.TEXT, to=of.TEXT, budget=of.NUMBER, dialect=of.TEXT),
    _computes("request", headish=of.IN_BODY, **_ASKED, params=of.RECORD, tools=of.TOOLS, budget=of.NUMBER,
              dialect=of.TEXT),
    _computes("cost", headish=of.IN_BODY_OR_ALL, prices=of.PRICES, by=of.TEXT, since=of.TIME, until=of.TIME),
    _reads("bookmarks.list", prefix=of.TEXT, limit=of.LIMIT, by=of.one_of("name", "recency"), after=of.TEXT),
    _reads("bookmarks.history", name=of.NEEDED),
    _reads("bookmarks.at", ids=of.LISTED),
    _reads("conversations.list", limit=of.LIMIT, after=of.TEXT, archived=of.FLAG_OR_NONE, pinned=of.FLAG,
           since=of.TIME, until=of.TIME, names=of.TEXT, tag=of.TEXT, model=of.TEXT, role=of.TEXT, tool=of.TEXT,
           erased=of.FLAG, twins=of.FLAG),
    _reads("conversations.get", subject=of.NEEDED),
    _reads("conversations.find", key=of.NEEDED),
    _reads("conversations.parts", key=of.NEEDED, limit=of.LIMIT),
    _reads("objects.get", kind=of.NEEDED, key=of.NEEDED),
    _reads("objects.list", kind=of.NEEDED, prefix=of.TEXT, after=of.TEXT, limit=of.LIMIT),
    _reads("pointers.list"),
    _reads("pointers.default"),
    _reads("pointers.history", name=of.NEEDED),
    _reads("streams.list"),
    _reads("streams.count"),
    _reads("tools.list"),
    _reads("calls.list", name=of.TEXT, before=of.TEXT, limit=of.LIMIT),
    _reads("calls.get", id=of.NEEDED),
    _reads("calls.body", id=of.NEEDED),
    _reads("calls.spooled"),
    _reads("erasures.list"),
    _reads("erasures.count"),
    _reads("erasures.is_scrubbed"),
    # Write
    _writes("add_turn", content=of.CONTENT, **_TURN),
    _writes("add_turns", items=of.ITEMS, moves=of.FLAG),
    _writes("add_document", BodyForm.BODY, name=of.TEXT, content_type=of.TEXT, **_DOCUMENT),
    _writes("record", messages=of.MESSAGES, continues=of.OTHER, bookmark=of.TEXT, form=of.TEXT),
    _writes("import_file", BodyForm.BODY, format=of.TEXT, bookmark=of.TEXT, force=of.FLAG, continues=of.OTHER,
            partial=of.FLAG, strict=of.FLAG, start_role=of.TEXT, bos=of.TEXT, eos=of.TEXT, keep_raw=of.FLAG,
            dry_run=of.FLAG),
    _writes("edit", headish=of.HEADISH, content=of.CONTENT, keep=of.FLAG, json=of.FLAG, expect=of.TEXT),
    _writes("hide", **_COVERED, viewer=of.one_of("model", "people", "both")),
    _writes("keep", **_COVERED),
    _writes("unhide", **_COVERED),
    _writes("summarize", **_COVERED, content=of.MAYBE_CONTENT, ptr=of.TEXT),
    _writes("replace", headish=of.HEADISH, content=of.CONTENT, continues=of.OTHER, expect=of.TEXT),
    _writes("compact", headish=of.NEWEST, to=of.SHARE, over=of.SHARE, ptr=of.TEXT, expect=of.TEXT),
    _writes("reply", headish=of.NAMED, provider=of.NEEDED, response=of.ANYTHING),
    _writes("ask", BodyForm.ANSWER, content=of.MAYBE_CONTENT, **_PLACED, **_ASKED, tools=of.TOOLS, servers=of.WORDS,
            system=of.TEXT, inherited=of.RECORD, compact=of.one_of("auto")),
    _writes("retry", BodyForm.ANSWER, headish=of.NEWEST, **_ASKED),
    _writes("ask_title", headish=of.NEWEST, ptr=of.NEEDED),
    _writes("reindex"),
    _writes("bookmarks.set", name=of.NEEDED, headish=of.HEADISH, expect=of.TEXT),
    _writes("bookmarks.remove", name=of.NEEDED, expect=of.TEXT),
    _writes("bookmarks.rename", old=of.NEEDED, new=of.NEEDED, expect=of.TEXT),
    _writes("bookmarks.undo", name=of.NEEDED, n=of.NUMBER, expect=of.TEXT),
    _writes("conversations.set", subject=of.NEEDED, title=of.OR_NONE, tags=of.WORDS, archived=of.FLAG, pinned=of.FLAG,
            key=of.OR_NONE, app=of.RECORD_OR_NONE, expect=of.NUMBER),
    _writes("objects.put", kind=of.NEEDED, key=of.NEEDED, data=of.BYTES, expect=of.NUMBER),
    _writes("objects.remove", kind=of.NEEDED, key=of.NEEDED, expect=of.NUMBER),
    _writes("streams.recover", force=of.FLAG),
    _writes("streams.drop", stream=of.NEEDED),
    _writes("tools.set", server=of.NEEDED, tools=of.ANYTHING),
    _writes("tools.remove", server=of.NEEDED),
    # Erase
    _erases("erase", headish=of.NAMED, scope=of.one_of("turn", "thread", "branch"), said_before=of.MOMENT,
            meta=of.FLAG, content=of.FLAG, repeats=of.FLAG, keep_name=of.FLAG, **_ERASED),
    _erases("bookmarks.erase", name=of.NEEDED, **_ERASED),
)  # fmt: skip

KEYED = frozenset(("add_turn", "add_document"))
"""The verbs whose ``key`` is a turn's, so that a repeated request stores nothing twice. The ``key`` of other verbs
names an object or a conversation."""

_FILES = "names a file of the server"
_HERE = "takes a function of the program"
_KEYS = "names an address, a header or the variable of a key"
NOT_SERVED: dict[str, str] = {
    **dict.fromkeys(("backup", "export_folder", "import_changed", "bundles.apply", "bundles.create"), _FILES),
    **dict.fromkeys(("read", "write", "run_tools"), _HERE),
    **dict.fromkeys(("pointers.set", "pointers.remove", "pointers.set_default", "pointers.url"), _KEYS),
    "batches.create": _KEYS,
    **dict.fromkeys(("batches.collect", "batches.status", "streams.recover_remote"), "waits for a provider"),
    **dict.fromkeys(("batches.drop", "batches.get", "batches.list"), "belongs to who made the batch"),
    **dict.fromkeys((f"remotes.{verb}" for verb in (
        "add", "answer", "bookmarks", "clone", "devices", "dismiss_pending", "elsewhere", "erase_pending", "exchange",
        "invite", "list", "not_reached", "pending_erasures", "pull", "push", "remove", "revoke", "set", "status",
    )), "is for the devices of the database's owner"),
    "sign": "signs with a key that a person holds, not with one of the server's",
    "export_each": "is export, once for each thread",
    "render_pieces": "is render",
    "at_least": "gives another view of the store",
    "say": "is the half of ask that stores a question: add_turn does that",
    "open_answer": "is ask with events",
    "open_retry": "is retry with events",
    "capture": "is reply, for an answer that arrives in the program itself",
    "copy_to": "crosses into another space",
    "streams.recover_quietly": "is streams.recover as opening a store does it",
}  # fmt: skip
"""The verbs of a store that have no route, and why."""

_SPELLED = "is an option of one provider or format: set it as inherited"
ARGUMENTS_NOT_SERVED: dict[str, str] = {
    **dict.fromkeys(("count", "warn", "told", "progress", "on_delta"), _HERE),
    **dict.fromkeys(("keep_path", "source", "document", "signers", "revoked"), _FILES),
    "base_url": _KEYS,
    **dict.fromkeys(("call", "options", "settings", "spelling"), _SPELLED),
    "debug": "shows what end users may not see",
    "objects": "is for adapters: objects.put stores one",
    "faces": "is for pages; the answer does not say it",
    "pulse": "is the server's own",
    "lint.tools": "does not fit into a query: request says the same",
    "tokens.tools": "does not fit into a query",
    "add_document.inherited": "does not fit into a query",
    "add_document.meta": "does not fit into a query",
}
"""The arguments that no route takes, of one verb or of all, and why. Each reason completes "the argument …"."""
