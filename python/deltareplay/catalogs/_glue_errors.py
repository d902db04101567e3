"""Conversion of boto3's exceptions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deltareplay.exceptions import (
    DeltaReplayError,
    InvalidArgumentError,
    StorageError,
    TableNotFoundError,
)

#: Codes of responses that reject the credentials. Their messages may contain the signed request.
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
#: Classes of errors about missing, expired or unreadable credentials.
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
#: Classes of errors about the profile, the region or the address of Glue.
_ADDRESS = ("NoRegionError", "ProfileNotFound", "InvalidRegionError", "ValueError")
#: The maximum number of characters of an error's text that a message repeats.
_MAX_MESSAGE = 2000


def to_exception(error: Exception, name: str, secrets: Sequence[str]) -> DeltaReplayError:
    """Convert an error to an exception of deltareplay.

    Args:
        error: A ``ClientError``, which has a response of AWS; otherwise a ``BotoCoreError``, a
            ``TimeoutError``, or a ``ValueError`` for an invalid address.
        name: What was requested, such as the name of a table, for the message.
        secrets: The secrets of the request, which the response may repeat.
    """
    response = getattr(error, "response", None)
    if response is None:
        return _no_response(error, name)
    details = response.get("Error") or {}
    aws_code, reason = (_redacted(str(details.get(key)), secrets) for key in ("Code", "Message"))
    status = (response.get("ResponseMetadata") or {}).get("HTTPStatusCode", 0)
    message = f"AWS reports an error for {name}: {aws_code}"
    if aws_code in _DENIED:
        return InvalidArgumentError(
            f"{message}. Check the credentials of the session, and its region",
            code="catalog.denied",
        )
    message = f"{message}: {reason.rstrip('.')}"
    if aws_code == "EntityNotFoundException":
        return TableNotFoundError(f"{message}. Check the name", code="catalog.no_table")
    if aws_code.startswith("AccessDenied"):
        return InvalidArgumentError(
            f"{message}. Ask for the permission glue:GetTable", code="catalog.denied"
        )
    if status >= 500 or status == 429 or "Throttling" in aws_code:
        return StorageError(message, code="catalog.unreachable")
    return InvalidArgumentError(message, code="catalog.refused")


def _redacted(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "\u2026")
    return text[:_MAX_MESSAGE]


def _no_response(error: Exception, name: str) -> DeltaReplayError:
    # an address from the environment may contain secrets
    message = re.sub(r"(//)[^/\s@]*@|[?#][^\s\"]*", r"\1", str(error))[:_MAX_MESSAGE]
    class_names = {ancestor.__name__ for ancestor in type(error).__mro__}
    if not class_names.isdisjoint(_CREDENTIALS):
        return InvalidArgumentError(
            f"the session has no usable AWS credentials to request {name}: {message}",
            code="catalog.denied",
        )
    if not class_names.isdisjoint(_ADDRESS):
        return InvalidArgumentError(
            f"no request to Glue is possible: {message}. Pass region=, profile= or endpoint_url=",
            code="catalog.address",
        )
    return StorageError(
        f"AWS did not respond to the request for {name}: {message}", code="catalog.unreachable"
    )
