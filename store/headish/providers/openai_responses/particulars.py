"""Features of the Responses API alone: outputs of its own kinds of calls, files, and stored answers.

The ledger pairs the calls of functions. Other calls that a client answers (a shell, a patch, a custom tool) are the
provider's own blocks, and so are their outputs. The API refuses one without the other, so such a block is sent only if
its other half is in the thread, too.

An ``input_file`` is a document that is not text (text goes out as text). The API takes a file's type from the ending of
its name, so a name without a known ending gets one. A request that continues a stored answer leaves out everything that
the server has seen.

Source: the types of the official SDK, openai 3.54.0 (``ResponseInputItemParam``), and
https://developers.openai.com/api/docs/guides/file-inputs, "Accepted file types"; read on 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from headish.content.forms.limits import OFFICE
from headish.content.media import PDF
from headish.providers.shared.values import Request, Sources
from headish.values.blocks import ProviderBlock
from headish.values.ids import TurnId
from headish.values.messages import Message, Note
from headish.values.shapes import record, text

Pair = tuple[str, str]
"""The type of an output, and the id that it shares with its call."""

OUTPUTS = {
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "tool_search_call": "tool_search_output",
}
"""The types of calls, and those of their outputs."""


class Pairs:
    """The calls of a thread that have an answer after them. Ask about items in the order in which they are sent."""

    def __init__(self, messages: Iterable[Message], provider: str) -> None:
        self._answered: set[Pair] = set()
        self._called: set[Pair] = set()
        self._closed: set[Pair] = set()
        called: set[Pair] = set()
        for message in messages:
            for block in message.content:
                data = record(block.data) if isinstance(block, ProviderBlock) and block.provider == provider else {}
                pair = pair_of(data)
                if pair is not None and data["type"] in OUTPUTS:
                    called.add(pair)
                elif pair is not None and pair in called:
                    self._answered.add(pair)

    def admit(self, data: Mapping[str, Any]) -> bool:
        """Whether to send an item: it needs no other half, or its other half is sent, too, and each of them once."""
        pair = pair_of(data)
        if pair is None:
            return True
        if data["type"] in OUTPUTS:
            fits, sent = pair in self._answered, self._called
        else:
            fits, sent = pair in self._called, self._closed
        if not fits or pair in sent:
            return False
        sent.add(pair)
        return True


def pair_of(data: Mapping[str, Any]) -> Pair | None:
    """The key that pairs an item with its other half; None if it needs none."""
    kind = text(data.get("type"))
    if data.get("execution") == "server":
        return None  # the server ran it (a tool search), and needs no output of ours
    if kind in OUTPUTS or kind in OUTPUTS.values():
        # The output of a local shell has the id of its call, but no call_id.
        return OUTPUTS.get(kind, kind), text(data.get("call_id")) or text(data.get("id"))
    return None


_ENDINGS = (
    (".doc", ".dot"), (".docx",), (".rtf",), (".odt",), (".ppt", ".pot", ".pps"), (".pptx",), (".xls", ".xlt"),
    (".xlsx",),
)  # fmt: skip

FILES: dict[str, tuple[str, ...]] = {PDF: (".pdf",), **dict(zip(OFFICE, _ENDINGS, strict=True))}
"""Media types, and the endings of the names of such files."""


def file_name(media_type: str, name: str | None) -> str:
    """A name that the API takes for a file of this type."""
    endings = FILES[media_type]
    if not name:
        return f"document{endings[0]}"
    return name if name.lower().endswith(endings) else f"{name}{endings[0]}"


OPTION = "continue_stored"
"""The parameter that asks to continue a stored answer; it is headish's own, and never sent."""
PREVIOUS = "previous_response_id"


def continue_stored(request: Request, response_id: str, answer: TurnId, seen: Collection[TurnId]) -> Request:
    """The request with only the items that the server has not ``seen``. ``whole`` keeps the full body.

    An output that settles an unanswered call of the answer is new as well. The request stays unchanged if no item is
    new.
    """
    items: list[Any] = request.body["input"]
    new = [
        (item, turns)
        for item, turns in zip(items, request.sources.turns, strict=True)
        if not turns or not set(turns) <= set(seen) or ("output" in item and answer in turns and "id" not in item)
    ]
    if not new or len(new) == len(items):
        return request
    sources = Sources(request.sources.list_name, request.sources.hoisted, tuple(turns for _, turns in new))
    body = {**request.body, PREVIOUS: response_id, "input": [item for item, _ in new]}
    return replace(request, body=body, whole=request.body, sources=sources, notes=(*request.notes, told(answer)))


def told(answer: TurnId) -> Note:
    """The note on items that are not sent because the server keeps them."""
    return Note("what was said up to a stored answer is not sent: the server keeps it", answer)


def is_unknown(status: int, message: str) -> bool:
    """Whether a server refuses a request because it does not know the named answer."""
    return status in (400, 404) and "previous" in message.lower() and "response" in message.lower()
