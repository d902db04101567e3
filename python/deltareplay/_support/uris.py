"""URIs: detection of catalog names, printing, and forbidden parts."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from deltareplay.exceptions import InvalidArgumentError

#: Schemes of table names, one for each kind of catalog.
CATALOG_SCHEMES = ("glue://", "hive://", "uc://")
#: Signatures in a query: of Azure (SAS), S3 and Google Cloud Storage.
_SIGNATURE = re.compile(
    r"(?!file:)[a-z0-9]+://.*[?&](sig|x-amz-signature|x-goog-signature)=", re.IGNORECASE
)


def is_table_name(uri: str, catalog: object) -> bool:
    """Return whether a URI is a name to look up in a catalog."""
    if catalog is None:
        return uri.startswith(CATALOG_SCHEMES)
    return isinstance(catalog, str) or hasattr(catalog, "locate")


def without_secrets(uri: str) -> str:
    """Return a URI for printing, without user, password and query (which may be signed)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return "<unreadable URI>"
    if len(parts.scheme) < 2:  # a local path; Windows begins it with the letter of a drive
        return uri
    # abfss:// writes the container where others write the user.
    host = parts.netloc
    if parts.scheme not in ("abfs", "abfss", "wasb", "wasbs") or ":" in host.rpartition("@")[0]:
        host = host.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def refuse_signature(uri: str) -> None:
    """Check that a URI is not signed, since messages would show the signature.

    Raises:
        InvalidArgumentError: ``uri.form``.
    """
    if match := _SIGNATURE.match(uri):
        name = match[1]
        option = "azure_storage_sas_token" if name.lower() == "sig" else "credentials"
        raise InvalidArgumentError(
            f"a URI must not contain a signature ({name}=): pass {option} in storage_options",
            code="uri.form",
        )


#: Words of small or of capital letters, with few digits.
_WORD = "(?:[a-z]{1,20}[0-9]{0,2}[a-z]{0,4}|[A-Z]{1,20}[0-9]{0,2}[A-Z]{0,4})"
_OPTION = re.compile(rf"{_WORD}(?:[_.-]{_WORD}){{0,9}}")


def printable_option(key: str) -> str:
    """Return the key of a storage option for printing; hide one that may be a secret.

    >>> printable_option("aws_region"), printable_option("SeCrEtKeY0123456789")
    ('aws_region', '…')
    """
    return key if _OPTION.fullmatch(key) else "…"
