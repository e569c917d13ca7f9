"""Keywords of JSON Schema, taken out of a tool's schema where a provider refuses them.

Only keywords go: a *property* of that name is data, and stays. What stands where JSON Schema has a schema is looked
through, nothing else: an ``enum`` or ``default`` may hold anything.

Source: JSON Schema 2020-12, core and validation vocabularies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SCHEMA = frozenset(
    ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems",
     "unevaluatedProperties")
)  # fmt: skip
"""Keywords whose value is a schema."""
_LIST = frozenset(("allOf", "anyOf", "items", "oneOf", "prefixItems"))
"""Keywords whose value is a list of schemas."""
_NAMED = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
"""Keywords whose value is an object of schemas by name."""


def clean_schema(schema: Any, keywords: frozenset[str], dropped: dict[str, None]) -> Any:
    """The schema without these keywords, everywhere; those that were found are added to ``dropped``."""
    if not isinstance(schema, Mapping):
        return schema  # true and false are schemas, too
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key in keywords:
            dropped[key] = None
        elif key in _NAMED and isinstance(value, Mapping):
            cleaned[key] = {name: clean_schema(each, keywords, dropped) for name, each in value.items()}
        elif key in _LIST and isinstance(value, list):
            cleaned[key] = [clean_schema(each, keywords, dropped) for each in value]
        elif key in _SCHEMA:
            cleaned[key] = clean_schema(value, keywords, dropped)
        else:
            cleaned[key] = value
    return cleaned
