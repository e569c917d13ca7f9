"""AWS: credentials as every AWS tool finds them, and Signature Version 4, both by botocore (extra ``bedrock``).

At debug level, botocore logs what it signs, including a session's token. So this module takes the steps of
``add_auth`` without its logging. Source: botocore 1.44.5, ``auth.SigV4Auth``; read 2026-11-22.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import time as now
from typing import Any

from headish.calls.clouds.remembering import PerEnvironment
from headish.calls.redaction import Redactor
from headish.errors import CallError, CallRefused, ClockSkewed, InvalidArgument, NoCredentials
from headish.providers.clouds import TITLES, Cloud

SERVICE = "bedrock"
SIGNED = ("accept", "content-type", "x-amzn-bedrock-accept")
"""The headers to sign, beside the host, the date and the token. A proxy may change others, which would invalidate the
signature."""
TOLERANCE_SECONDS = 240
"""AWS accepts a signature of the last five minutes. It is less here, because the answer took a while."""
_TIME_REFUSED = re.compile(r"signature expired|signature not yet current|requesttimetooskewed", re.IGNORECASE)
_CREDENTIALS = PerEnvironment(("AWS_", "HOME"))
_ADVICE = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK, or run 'aws sso login' and give the "
    "pointer its profile"
)


def find_signer(provider: str, cloud: Cloud) -> tuple[Signature, tuple[str, ...]]:
    """The signer, and the secrets that no error may show. It looks up credentials once per call, the time once per
    attempt.

    Raises: NoCredentials; InvalidArgument without botocore.
    """
    try:
        from botocore.exceptions import BotoCoreError
    except ImportError:
        raise InvalidArgument(
            f"{TITLES['bedrock']} with AWS credentials needs the extra: pip install 'headish[bedrock]'"
        ) from None
    try:
        credentials = _CREDENTIALS.find(cloud.profile, lambda: _ask_session(cloud.profile))
        frozen = None if credentials is None else credentials.get_frozen_credentials()
    except BotoCoreError as error:
        raise NoCredentials(provider, TITLES["bedrock"], Redactor([]).show(str(error), 300), _ADVICE) from None
    if frozen is None:
        _CREDENTIALS.forget()  # the user may sign in before the next call
        raise NoCredentials(provider, TITLES["bedrock"], "AWS has none for this user", _ADVICE)
    secrets = tuple(each for each in (frozen.secret_key, frozen.token, frozen.access_key) if each)
    return Signature(provider, frozen, cloud.region or ""), secrets


class Signature:
    """Signs for one user and region."""

    def __init__(self, provider: str, credentials: Any, region: str) -> None:
        self._provider, self._credentials, self._region = provider, credentials, region

    def sign(self, method: str, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        """The headers that sign a request: its date, the session's token, and the signature.

        The signature covers the path as sent, with its escapes encoded once more, as AWS wants it.
        """
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        signed = {name: value for name, value in headers.items() if name in SIGNED}
        request = AWSRequest(method=method, url=url, headers=signed, data=content)
        request.context["timestamp"] = datetime.fromtimestamp(now(), UTC).strftime("%Y%m%dT%H%M%SZ")
        auth: Any = SigV4Auth(self._credentials, SERVICE, self._region)
        auth._modify_request_before_signing(request)
        text = auth.string_to_sign(request, auth.canonical_request(request))
        auth._inject_signature_to_request(request, auth.signature(text, request))
        return {name.lower(): value for name, value in request.headers.items() if name.lower() not in signed}

    def explain(self, error: CallRefused, headers: Mapping[str, str]) -> CallError:
        """ClockSkewed if the server refuses the time of a signature, else the error itself."""
        # The error of a wrong key has the same type, so that the type counts only together with a wrong clock.
        behind = self._behind(headers.get("date"))
        far = behind is not None and abs(behind) > TOLERANCE_SECONDS
        refused = headers.get("x-amzn-errortype", "").partition(":")[0] == "InvalidSignatureException"
        if _TIME_REFUSED.search(error.message) or (refused and far):
            return ClockSkewed(self._provider, TITLES["bedrock"], behind if far else None)
        return error

    def _behind(self, date: str | None) -> int | None:
        """The seconds by which this machine's clock is behind the server's; None if the server gives no date."""
        try:
            return round(parsedate_to_datetime(date or "").timestamp() - now())
        except (ValueError, TypeError, OverflowError, IndexError):
            return None


def _ask_session(profile: str | None) -> Any:
    """The credentials of botocore's own chain: environment, profile, single sign-on, role of the machine."""
    from botocore.session import Session

    return Session(profile=profile).get_credentials()
