"""The types of a verb's arguments over HTTP, which msgspec checks, and their defaults.

An argument that is left out is not passed on, so that the verb's own default applies.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from headish.values.limits import HEADISH_LIMIT

LIST_LIMIT = 500
"""The most items that one request gets."""
LIST_DEFAULT = 100

_Headish = Annotated[str, Meta(max_length=HEADISH_LIMIT, description="An id, a bookmark, @, each with suffixes.")]
_Limit = Annotated[int, Meta(ge=1, le=LIST_LIMIT)]
Moment = Annotated[datetime, Meta(tz=True)]
"""RFC 3339 with a zone."""
_Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]  # the largest integer that the databases store


class Field(NamedTuple):
    """The type of an argument and, unless the argument is required, its default."""

    type: Any
    default: Any = msgspec.NODEFAULT


HEADISH = Field(_Headish)
NEWEST = Field(_Headish, "@")
OTHER = Field(_Headish | UnsetType, UNSET)
HEADISHES = Field(list[_Headish], msgspec.field(default_factory=lambda: ["@"]))
IN_BODY = Field(_Headish | list[_Headish], "@")
IN_BODY_OR_ALL = Field(_Headish | list[_Headish] | None, "@")
NAMED = Field(_Headish | list[_Headish])
NEEDED = Field(str)
TEXT = Field(str | UnsetType, UNSET)
OR_NONE = Field(str | None | UnsetType, UNSET)
FLAG = Field(bool | UnsetType, UNSET)
FLAG_OR_NONE = Field(bool | None | UnsetType, UNSET)
NUMBER = Field(_Number | UnsetType, UNSET)
LIMIT = Field(_Limit, LIST_DEFAULT)
LENGTH = Field(_Limit | UnsetType, UNSET)
WORDS = Field(list[str] | UnsetType, UNSET)
LISTED = Field(list[str], msgspec.field(default_factory=list))
RECORD = Field(dict[str, Any] | UnsetType, UNSET)
PRICES = Field(dict[str, Any])
RECORD_OR_NONE = Field(dict[str, Any] | None | UnsetType, UNSET)
CONTENT = Field(str | list[Any] | dict[str, Any])
"""Text, a block, or a list of both."""
MAYBE_CONTENT = Field(str | list[Any] | dict[str, Any] | UnsetType, UNSET)
ITEMS = Field(list[str | list[Any] | dict[str, Any]])
"""Contents, or objects with the arguments of ``add_turn``."""
TOOLS = Field(list[dict[str, Any]] | dict[str, Any] | UnsetType, UNSET)
MESSAGES = Field(list[dict[str, Any]])
CONTINUES = Field(_Headish | list[_Headish] | UnsetType, UNSET)
ANYTHING = Field(Any)
TIME = Field(str | UnsetType, UNSET)
"""RFC 3339, or words such as ``yesterday``; the verb reads it."""
MOMENT = Field(Moment | UnsetType, UNSET)
SAID_AT = Field(Moment | _Number | UnsetType, UNSET)
SHARE = Field(Annotated[float, Meta(gt=0, le=1)] | _Number | UnsetType, UNSET)
BYTES = Field(bytes)
CACHE = Field(bool | Literal["5m", "1h"] | UnsetType, UNSET)


def one_of(*words: str) -> Field:
    """A field that takes one of some words; the default is the verb's own."""
    return Field(Literal[words] | UnsetType, UNSET)


def make_arguments(name: str, fields: dict[str, Field]) -> type[Struct]:
    """Make the struct of a verb's arguments; it refuses unknown ones."""
    definitions = [
        (key, each.type) if each.default is msgspec.NODEFAULT else (key, *each) for key, each in fields.items()
    ]
    return msgspec.defstruct(name, definitions, kw_only=True, forbid_unknown_fields=True, frozen=True)
