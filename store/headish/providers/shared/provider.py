"""What a provider is to headish: who writes its requests, and who reads its answers."""

from __future__ import annotations

from headish.providers.shared.reply import ReplyReader
from headish.providers.shared.request import RequestWriter
from headish.values.tuples import NamedTuple


class Provider(NamedTuple):
    """A provider by its id."""

    id: str
    writer: type[RequestWriter]
    reader: type[ReplyReader]
