"""``GlueStorage``: the renewable credentials of a Glue table's storage."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, Protocol

from deltareplay.catalogs._catalog import Credentials, LogTail, Ratification, StagedCommit
from deltareplay.exceptions import UnsupportedFeatureError

if TYPE_CHECKING:
    import boto3

#: Milliseconds after which credentials are requested from boto3 again. It renews them ten to
#: fifteen minutes before they expire; before that, it returns them without a request.
_CACHED_FOR = 5 * 60 * 1000


class Vending(Protocol):
    """A catalog that has the credentials of a session."""

    def _credentials(self) -> Credentials: ...


class GlueStorage:
    """The ``Catalog`` of a Glue table: manages no commits, and vends the session's credentials."""

    def __init__(self, catalog: Vending) -> None:
        self._catalog = catalog

    def load(self) -> LogTail:
        return LogTail(None)

    def commit(self, staged: StagedCommit) -> Ratification:
        raise _manages_none(staged.version)

    def published(self, version: int) -> None:
        raise _manages_none(version)

    def credentials(self, _: Literal["READ", "READ_WRITE"]) -> Credentials:
        return self._catalog._credentials()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlueStorage) and self._catalog == other._catalog

    def __hash__(self) -> int:
        return hash(self._catalog)

    def __repr__(self) -> str:
        return f"GlueStorage({self._catalog!r})"


def credentials_of(session: boto3.Session) -> Credentials:
    """Return the credentials of a session; those that boto3 renews expire soon.

    Raises:
        NoCredentialsError: The session has no credentials.
    """
    from botocore.credentials import RefreshableCredentials
    from botocore.exceptions import NoCredentialsError

    credentials = session.get_credentials()
    if credentials is None:
        raise NoCredentialsError
    frozen = credentials.get_frozen_credentials()
    options = {
        "aws_access_key_id": frozen.access_key,
        "aws_secret_access_key": frozen.secret_key,
        "aws_session_token": frozen.token,
    }
    renewed = isinstance(credentials, RefreshableCredentials)
    return Credentials(
        {key: value for key, value in options.items() if value},
        int(time.time() * 1000) + _CACHED_FOR if renewed else None,
    )


def _manages_none(version: int) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"Glue does not manage commits, such as version {version}: the feature catalogManaged "
        "requires a catalog that does",
        code="catalog.required",
    )
