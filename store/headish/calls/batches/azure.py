"""Batches at Azure OpenAI: OpenAI's, with paths, words and gaps of its own.

Sources, read 2026-11-22: "Getting started with Azure OpenAI batch deployments",
https://learn.microsoft.com/azure/foundry/openai/how-to/batch, its text in MicrosoftDocs/azure-ai-docs,
``articles/foundry/openai/includes/batch``; openai 3.54.0 ``lib/azure.py`` (no deployment in these paths).

- ``model`` of each line is the deployment, the same in all, and of the type Global Batch or Data Zone Batch.
- The v1 API has ``/v1`` in the URL of a line. The older, dated API does not, and takes no lines for Responses. A batch
  is always created for the endpoint ``/chat/completions``: the service reads the URLs in the lines.
- A file may take a while to arrive: the service refuses a batch whose file is not yet ``processed``.
- A status may begin with a capital, counts may be null, the ids of files may be empty texts.
- A failed batch may name empty files, beside the errors that give the reason.
- A resource takes 500 files, or 10,000 of those that expire, as input files do here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from headish.calls.batches.apis import MEGABYTE, BatchApi, look_openai, results_openai, submit_openai, upload_openai
from headish.calls.batches.reading import BatchRequest, id_of, read_id, read_records
from headish.calls.clouds.places import is_dated
from headish.calls.remote import Remote
from headish.errors import InvalidArgument
from headish.providers.clouds import Cloud
from headish.values import shapes

ENDPOINT = "/chat/completions"
EXPIRING = {"expires_after[seconds]": "1209600", "expires_after[anchor]": "created_at"}
"""Fourteen days, the shortest time that Azure takes. An input file is of no use once its batch has ended."""
POLL_SECONDS, WAIT_SECONDS = 2.0, 300.0
"""The time between two checks of a file that is still arriving, and the longest wait for it."""
PAGES = 20
"""The most pages of a list to search for a file or batch whose creation was cut off."""


def find_azure_api(provider: str, cloud: Cloud) -> BatchApi:
    """The batch API of a provider at Azure. Raises: InvalidArgument if it has none there."""
    if provider not in _LINES:
        raise InvalidArgument(f"headish makes no batches at {cloud}: Foundry has none for the models of {provider}")
    dated = is_dated(cloud.api_version)
    if dated and provider == "openai_responses":
        raise InvalidArgument(
            f"headish makes no batches at {cloud}: those of the Responses API need the v1 API; leave out api_version"
        )
    path = _LINES[provider].removeprefix("/v1") if dated else _LINES[provider]

    def create(remote: Remote, token: str, _model: str | None, wanted: Sequence[BatchRequest]) -> str:
        file = upload_openai(remote, token, path, wanted, None if dated else EXPIRING)
        return submit_openai(remote, token, ENDPOINT, _await_file(remote, file))

    return BatchApi(create, look_openai, results_openai, _find, 100_000, 200 * MEGABYTE, True)


def _await_file(remote: Remote, file: Mapping[str, Any]) -> str:
    """Wait until a file can be used, and return its id. After ``WAIT_SECONDS`` headish uses it anyway: the service then
    says what is wrong."""
    id, waited = id_of(remote, file), 0.0
    while str(file.get("status")).lower() in _COMING and waited < WAIT_SECONDS:
        time.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
        file = remote.get(f"/files/{quote(id, safe='')}")
    return id


def _find(remote: Remote, token: str, _count: int, _since: datetime) -> str | None:
    """Find a batch by its metadata, or by the name of its input file: not every version gives metadata back."""
    listed = _listed(remote, "/files?purpose=batch")
    named = [read_id(each) for each in listed if each.get("filename") == f"{token}.jsonl"]
    files = [each for each in named if each is not None]
    for each in _listed(remote, "/batches?limit=100"):
        by_file = each.get("input_file_id") in files
        if by_file or shapes.record(each.get("metadata")).get("headish") == token:
            return id_of(remote, each)
    return None


def _listed(remote: Remote, path: str) -> Iterator[Mapping[str, Any]]:
    """The entries of a list, page by page."""
    after = ""
    for _ in range(PAGES):
        answer = remote.get(path + after)
        page: Sequence[Mapping[str, Any]] = read_records(answer.get("data"))
        yield from page
        last = read_id(page[-1]) if page else None
        if answer.get("has_more") is not True or last is None:
            return
        after = f"&after={quote(last, safe='')}"


_COMING = frozenset(("notrunning", "pending", "running"))
_LINES = {"openai": "/v1/chat/completions", "openai_responses": "/v1/responses"}
"""The URL in the line of a request, by provider, for the v1 API."""
