"""Credentials that Unity Catalog vends, as storage options."""

from __future__ import annotations

from typing import Any

from deltareplay.catalogs._catalog import Credentials
from deltareplay.catalogs._response_values import number_of
from deltareplay.catalogs._rest import Json

_OPTIONS = {
    "s3.access-key-id": "aws_access_key_id",
    "s3.secret-access-key": "aws_secret_access_key",
    "s3.session-token": "aws_session_token",
    "azure.sas-token": "azure_storage_sas_token",
    "gcs.oauth-token": "google_bearer_token",
}
#: The same options in the older API.
_OLDER = {
    ("aws_temp_credentials", "access_key_id"): "aws_access_key_id",
    ("aws_temp_credentials", "secret_access_key"): "aws_secret_access_key",
    ("aws_temp_credentials", "session_token"): "aws_session_token",
    ("azure_user_delegation_sas", "sas_token"): "azure_storage_sas_token",
    ("gcp_oauth_token", "oauth_token"): "google_bearer_token",
}


def best_of(answer: Json, location: str) -> Credentials | None:
    """Return the credentials for the longest prefix of a location; None if there are none."""
    offered: list[dict[str, Any]] = answer.get("storage-credentials") or []
    fitting = [
        credential for credential in offered if _is_below(location, credential.get("prefix") or "")
    ]
    for credential in sorted(fitting, key=lambda credential: -len(credential.get("prefix") or "")):
        config = credential.get("config") or {}
        options = {
            option: _secret(config[key]) for key, option in _OPTIONS.items() if config.get(key)
        }
        if options:
            return Credentials(options, _expiry(credential.get("expiration-time-ms")))
    return None


def of_older(answer: Json) -> Credentials | None:
    """Return the credentials in a response of the older API."""
    options = {
        option: _secret(value)
        for (group, key), option in _OLDER.items()
        if (value := (answer.get(group) or {}).get(key))
    }
    return Credentials(options, _expiry(answer.get("expiration_time"))) if options else None


def _secret(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a credential is not a string")  # the message must not contain it
    return value


def _expiry(value: object) -> int | None:
    return None if value is None else number_of(value)


def _is_below(location: str, prefix: str) -> bool:
    directory = prefix.rstrip("/")
    return location.rstrip("/") == directory or location.startswith(f"{directory}/")
