"""Choose the batch API: the provider's own, or that of a cloud that needs no bucket of the user."""

from __future__ import annotations

from headish.calls.batches.apis import BATCH_APIS, BatchApi
from headish.calls.batches.azure import find_azure_api
from headish.errors import InvalidArgument
from headish.providers.clouds import Cloud


def find_batch_api(provider: str, cloud: Cloud | None = None) -> BatchApi:
    """The batch API of a provider, or of a cloud. Raises: InvalidArgument if it has none, with the reason for a
    cloud."""
    if cloud is not None:
        return _at_cloud(provider, cloud)
    api = BATCH_APIS.get(provider)
    if api is None:
        raise InvalidArgument(f"headish cannot make batches at {provider}: choose one of {', '.join(BATCH_APIS)}")
    return api


def _at_cloud(provider: str, cloud: Cloud) -> BatchApi:
    if cloud.name == "azure":
        return find_azure_api(provider, cloud)
    why = WITHOUT.get(cloud.name, "nobody has read how its batches are made")
    raise InvalidArgument(f"headish makes no batches at {cloud}: {why}")


WITHOUT = {
    "bedrock": "its batches are read from S3 and written there",
    "vertex": "its batches are read from Cloud Storage or BigQuery and written there",
}
"""The clouds where headish makes no batches, and why: both need a bucket of the user, permissions for the service to
read and write it, and another client than that of the model. Sources, read 2026-11-22:
https://docs.aws.amazon.com/bedrock/latest/userguide/batch-inference.html (``CreateModelInvocationJob``, at least 100
records), https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/batch-prediction-gemini,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/batch."""
