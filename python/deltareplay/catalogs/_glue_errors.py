"""Conversion of boto3's exceptions. Only imported where boto3 is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deltareplay.exceptions import (
    DeltaReplayError,
    InvalidArgumentError,
    StorageError,
    TableNotFoundError,
)

#: AWS rejects the credentials. Its message may contain the signed request.
_DENIED = {
    "ExpiredTokenException",
    "IncompleteSignatureException",
    "InvalidClientTokenId",
    "InvalidClientTokenIdException",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
#: Classes of ``BotoCoreError`` about credentials.
_CREDENTIALS = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "NoAuthTokenError",
    "SSOError",
    "SSOTokenLoadError",
    "TokenRetrievalError",
    "UnauthorizedSSOTokenError",
)
#: Classes of errors about the region or the address of Glue.
_ADDRESS = ("NoRegionError", "ProfileNotFound", "InvalidRegionError", "ValueError")
#: The maximum number of characters of an error that are repeated in ours.
_MAX_MESSAGE = 2000


def refused(error: Exception, name: str, secrets: Sequence[str]) -> DeltaReplayError:
    """Convert an exception of boto3.

    Args:
        error: A ``ClientError``, which is a response of AWS, or a ``BotoCoreError``; or a
            ``ValueError`` for an invalid address.
        name: The name of the requested table.
        secrets: The secrets of the request, which the response may repeat.
    """
    response = getattr(error, "response", None)
    if response is None:
        return _no_response(error, name)
    details = response.get("Error") or {}
    kind, reason = (_redacted(str(details.get(key)), secrets) for key in ("Code", "Message"))
    status = (response.get("ResponseMetadata") or {}).get("HTTPStatusCode", 0)
    message = f"AWS reports an error for {name}: {kind}"
    if kind in _DENIED:
        return InvalidArgumentError(
            f"{message}. Look at the credentials of the session, and at its region",
            code="catalog.denied",
        )
    message = f"{message}: {reason.rstrip('.')}"
    if kind == "EntityNotFoundException":
        return TableNotFoundError(f"{message}. Check the name", code="catalog.no_table")
    if kind.startswith("AccessDenied"):
        return InvalidArgumentError(
            f"{message}. Ask for the permission glue:GetTable", code="catalog.denied"
        )
    if status >= 500 or status == 429 or "Throttling" in kind:
        return StorageError(message, code="catalog.unreachable")
    return InvalidArgumentError(message, code="catalog.refused")


def _redacted(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "\u2026")
    return text[:_MAX_MESSAGE]


def _no_response(error: Exception, name: str) -> DeltaReplayError:
    # an address from the environment may have secrets
    message = re.sub(r"(//)[^/\s@]*@|[?#][^\s\"]*", r"\1", str(error))[:_MAX_MESSAGE]
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if not kinds.isdisjoint(_CREDENTIALS):
        return InvalidArgumentError(
            f"there are no AWS credentials to look up {name}: {message}", code="catalog.denied"
        )
    if not kinds.isdisjoint(_ADDRESS):
        return InvalidArgumentError(
            f"no request to Glue is possible: {message}. Pass region=, profile= or endpoint_url=",
            code="catalog.address",
        )
    return StorageError(
        f"Glue did not respond to the request for {name}: {message}", code="catalog.unreachable"
    )
