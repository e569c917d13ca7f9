"""Google Cloud: an access token of Application Default Credentials, by google-auth (extra ``vertex``).

Source: anthropic 2.12.0 ``lib/_extras/_google_auth.py``, google-genai 3.4.0 ``_api_client.py``; read 2026-11-22.
"""

from __future__ import annotations

import re
from typing import Any

from headish.calls.clouds.remembering import PerEnvironment
from headish.calls.redaction import Redactor
from headish.errors import CallError, ClockSkewed, InvalidArgument, NoCredentials
from headish.providers.clouds import TITLES

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TIME_REFUSED = re.compile(r"reasonable timeframe|iat and exp|token used too early", re.IGNORECASE)
_CREDENTIALS = PerEnvironment(("GOOGLE_", "CLOUDSDK_", "GCE_", "NO_GCE", "HOME"))
_ADVICE = "run 'gcloud auth application-default login', or let GOOGLE_APPLICATION_CREDENTIALS name a key file"


def find_token(provider: str) -> tuple[str, dict[str, str]]:
    """A valid access token, and the headers that go with it.

    Raises: NoCredentials; ClockSkewed; InvalidArgument without google-auth.
    """
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request
    except ImportError:
        raise InvalidArgument(f"{TITLES['vertex']} needs the extra: pip install 'headish[vertex]'") from None
    try:
        with _CREDENTIALS.lock:
            credentials: Any = _CREDENTIALS.find(None, lambda: google.auth.default(scopes=[SCOPE])[0])
            if not credentials.valid:
                credentials.refresh(Request())
    except GoogleAuthError as error:
        raise _explain(provider, error) from None
    project = getattr(credentials, "quota_project_id", None)
    return str(credentials.token), {"x-goog-user-project": project} if project else {}


def _explain(provider: str, error: Exception) -> CallError:
    _CREDENTIALS.forget()  # the user may sign in before the next call
    reason = str(error.args[0]) if error.args else str(error)
    if _TIME_REFUSED.search(reason):
        return ClockSkewed(provider, TITLES["vertex"], None)
    return NoCredentials(provider, TITLES["vertex"], Redactor([]).show(reason, 300), _ADVICE)
