"""The errors that a verb can answer with, by status: derived from its right, its arguments and its name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from headish import errors
from headish.serve.access.problems import status_of_kind
from headish.serve.api.table import ApiVerb

EVERY = {400: ("InvalidArgument",), 401: ("NotAdmitted", "WrongToken"), 403: ("CrossSite",), 421: ("UnknownHost",),
         429: ("TooManyTries",)}  # fmt: skip
"""Errors of every request. ``failures`` adds those of finding the space and of the database, which every verb has."""
_NAMING = ("UnknownTurn", "Ambiguous", "InvalidHeadish")
_RIGHTS: dict[str, tuple[str, ...]] = {
    "read": ("CorruptTurn", "RemovedSpace", "TooLarge"),
    "write": ("InvalidContent", "InvalidName", "TooLarge", "QuotaExceeded", "BarredContent", "RemovedSpace", "ReadOnly",
              *_NAMING, "TurnErased"),
    "erase": ("TooLarge", "RemovedSpace", "ReadOnly", "InvalidName", *_NAMING),
}  # fmt: skip
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("headish", "first", "second", "ids", "after", "subject", "around"), _NAMING),
    **dict.fromkeys(("bookmark", "continues"), ("BookmarkTaken",)),
    **dict.fromkeys(("name", "old"), ("UnknownTurn", "InvalidName", "BookmarkTaken")),
    "expect": ("BookmarkMoved", "RecordChanged"),
    "key": ("KeyTaken",),
    "format": ("UnknownFormat", "Unrepresentable", "HiddenMessage", "TurnErased"),
    "form": ("UnknownFormat", "Unrepresentable", "InvalidContent", "TurnErased"),
    **dict.fromkeys(("ptr", "to"), ("UnknownPointer", "UnknownServer", "Unrepresentable", "OverBudget", "TurnErased")),
    "items": ("KeyTaken", "BookmarkTaken", "BookmarkMoved", "InvalidRole", "UnknownFormat"),
    "provider": ("UnknownFormat", "InvalidReply"),
    "budget": ("OverBudget",),
    "role": ("InvalidRole",),
}
_MODEL = ("CallError", "MissingKey", "ServerFailed", "SummaryFailed")
_VERBS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("payload", "blocks", "text", "edit"), ("TurnErased",)),
    **dict.fromkeys(("ask", "retry", "ask_title", "summarize", "compact"), _MODEL),
    **dict.fromkeys(("follow", "audit"), ("CursorLost",)),
    **dict.fromkeys(("objects.get", "objects.remove"), ("UnknownObject",)),
    **dict.fromkeys(("calls.get", "calls.body"), ("UnknownCall", "TurnErased")),
    **dict.fromkeys(("conversations.get", "conversations.find", "conversations.set", "conversations.parts"),
                    ("UnknownConversation",)),
    "search": ("UnknownTurn",),
    "pointers.history": ("UnknownPointer",),
    "streams.drop": ("UnknownStream",),
    "tools.remove": ("UnknownServer",),
    "import_file": ("InvalidImport", "InvalidTranscript"),
    "cost": ("InvalidPrices",),
}  # fmt: skip


@cache
def failures(verb: ApiVerb) -> dict[int, tuple[str, ...]]:
    """The statuses of a verb's errors in order, each with the classes that have it. Their subclasses have it, too."""
    by_argument = (name for each in verb.arguments.__struct_fields__ for name in _ARGUMENTS.get(each, ()))
    names = [*_RIGHTS[verb.right], *by_argument, *_VERBS.get(verb.name, ()), "RightMissing", "UnknownSpace",
             "DatabaseError"]  # fmt: skip
    names_by_status = {status: list(kinds) for status, kinds in EVERY.items()}
    for name in _once(names):
        names_by_status.setdefault(status_of_kind(getattr(errors, name)), []).append(name)
    return {status: tuple(_once(names_by_status[status])) for status in sorted(names_by_status)}


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
