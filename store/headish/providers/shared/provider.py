"""What headish needs of a provider: a writer of its requests and a reader of its answers."""

from __future__ import annotations

from typing import NamedTuple

from headish.providers.shared.reply import ReplyReader
from headish.providers.shared.request import RequestWriter


class Provider(NamedTuple):
    """A provider by its id."""

    id: str
    writer: type[RequestWriter]
    reader: type[ReplyReader]
