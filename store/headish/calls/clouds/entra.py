"""Microsoft Entra ID: an access token of ``DefaultAzureCredential``, by azure-identity (extra ``azure``).

Source: azure-identity 1.27.0 ``_bearer_token_provider.py``, ``_credentials/default.py``; openai 3.54.0 ``lib/azure.py``
and anthropic 2.12.0 ``lib/foundry.py``, which take such a token from their caller; read 2026-11-22.
"""

from __future__ import annotations

import logging
import re
from importlib import import_module
from typing import Any

from headish.calls.clouds.places import is_dated
from headish.calls.clouds.remembering import PerEnvironment
from headish.calls.keys import ApiKey, checked_key
from headish.calls.redaction import Redactor
from headish.calls.routes import Route
from headish.errors import CallError, ClockSkewed, MissingKey, NoCredentials
from headish.providers.clouds import TITLES

PLACE = "Microsoft Entra ID"
COGNITIVE, FOUNDRY = "https://cognitiveservices.azure.com/.default", "https://ai.azure.com/.default"
"""The audiences of a token. Sources, read 2026-11-22: Microsoft's guide to batches and the pages of the dated versions
name the first; "Azure OpenAI v1 REST API reference", https://learn.microsoft.com/azure/foundry/openai/latest, the
second for the v1 API, which takes both; ``packages/foundry-sdk/README.md`` of anthropic-sdk-typescript the second."""
GOVERNMENT = "https://cognitiveservices.azure.us/.default"
"""Source: "Azure OpenAI in Azure Government", https://learn.microsoft.com/azure/ai-services/openai/azure-government."""
_TIME_REFUSED = re.compile(r"AADSTS700024|AADSTS500133|not within its valid time range", re.IGNORECASE)
_ATTEMPT = re.compile(r"^\t(\w+): (.+)$", re.MULTILINE)
_NOT_THERE = re.compile(r"unavailable|not found|not be found|not installed|requires the ", re.IGNORECASE)
_PROVIDERS = PerEnvironment(("AZURE_", "IDENTITY_", "MSI_", "HOME"))
_ADVICE = "run 'az login', or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET of an application"


def find_token(route: Route, looked_at: tuple[str, ...]) -> ApiKey:
    """A valid access token, for a user without a key in the usual places.

    Cost: nothing while a token is valid; it is renewed five minutes before it ends. The first one may run a command or
    ask a service of the machine.
    Raises: NoCredentials; ClockSkewed; MissingKey without azure-identity; InvalidKey if the value is not a token.
    """
    try:
        identity, core = import_module("azure.identity"), import_module("azure.core.exceptions")
    except ImportError:
        missing = f"{PLACE}, which needs the extra: pip install 'headish[azure]'"
        raise MissingKey(route.provider, (*looked_at, missing)) from None
    scope = choose_scope(route)
    _keep_quiet()
    try:
        with _PROVIDERS.lock:
            token = _PROVIDERS.find(scope, lambda: _make_provider(identity, scope))()
    except (core.AzureError, ValueError) as error:
        raise _explain(route.provider, error) from None
    return checked_key(route.provider, str(token), PLACE)


def choose_scope(route: Route) -> str:
    """The audience for which a token must be made: it depends on the kind of server, and on the version of its API."""
    host = route.address.host.removesuffix(".")
    if host.endswith(".azure.us"):
        return GOVERNMENT
    if route.cloud is not None and is_dated(route.cloud.api_version):
        return COGNITIVE
    return FOUNDRY if route.provider == "anthropic" or host.endswith(".services.ai.azure.com") else COGNITIVE


def _make_provider(identity: Any, scope: str) -> Any:
    """A function that returns a token, and keeps it while it is valid."""
    # A credential alone may keep none: that of ``az`` does not.
    return identity.get_bearer_token_provider(identity.DefaultAzureCredential(), scope)


def _keep_quiet() -> None:
    """Keep azure-identity's log off the terminal if no handler takes it: the error has the reason."""
    logger = logging.getLogger("azure.identity")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


def _explain(provider: str, error: Exception) -> CallError:
    _PROVIDERS.forget()  # the user may sign in before the next call
    report = str(error)
    if _TIME_REFUSED.search(report):
        return ClockSkewed(provider, TITLES["azure"], None)
    # Most ways to sign in are merely not set up here; the reasons of the others matter.
    tried = [f"{name}: {reason}" for name, reason in _ATTEMPT.findall(report) if not _NOT_THERE.search(reason)]
    if not tried and "Attempted credentials" in report:
        tried = ["nobody is signed in here, and this machine has no identity of its own"]
    return NoCredentials(provider, TITLES["azure"], Redactor([]).show("; ".join(tried) or report, 300), _ADVICE)
