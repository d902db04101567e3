"""Hadoop's settings of file systems as storage options.

A setting of the path's own bucket (S3A) or account (ABFS) takes precedence over the general one;
settings of other buckets, accounts and stores have no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError

_S3A, _AZURE, _GCS = "fs.s3a.", "fs.azure.", "fs.gs."

#: The prefix of the settings, by the scheme of a path.
_PREFIXES = {
    **dict.fromkeys(("s3", "s3a"), _S3A),
    **dict.fromkeys(("abfs", "abfss", "az", "azure", "adl"), _AZURE),
    "gs": _GCS,
}

#: The settings whose values are storage options.
_OPTIONS = {
    _S3A: {
        "fs.s3a.access.key": "aws_access_key_id",
        "fs.s3a.secret.key": "aws_secret_access_key",
        "fs.s3a.session.token": "aws_session_token",
        "fs.s3a.endpoint.region": "aws_region",
    },
    _AZURE: {
        "fs.azure.account.key": "azure_storage_account_key",
        "fs.azure.sas.fixed.token": "azure_storage_sas_token",
        "fs.azure.account.oauth2.client.id": "azure_storage_client_id",
        "fs.azure.account.oauth2.client.secret": "azure_storage_client_secret",
        "fs.azure.account.oauth2.msi.tenant": "azure_storage_tenant_id",
        "fs.azure.account.oauth2.msi.endpoint": "azure_msi_endpoint",
        "fs.azure.account.oauth2.token.file": "azure_federated_token_file",
    },
    _GCS: {"fs.gs.auth.service.account.json.keyfile": "google_service_account"},
}

#: The classes of S3A that take the credentials from other settings, or need none.
_S3A_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_S3A_PROVIDERS = (
    "SimpleAWSCredentialsProvider",
    "TemporaryAWSCredentialsProvider",
    _S3A_ANONYMOUS,
)

#: The settings of Azure that may have an account at the end.
_AZURE_SETTINGS = (
    *_OPTIONS[_AZURE],
    "fs.azure.account.auth.type",
    "fs.azure.account.oauth.provider.type",
    "fs.azure.account.oauth2.client.endpoint",
)

#: Types of credentials by Azure's type of authentication or, for OAuth, the provider's class.
_AZURE_CREDENTIALS = {
    "SharedKey": "access_key",
    "SAS": "sas_token",
    "ClientCredsTokenProvider": "client_secret",
    "MsiTokenProvider": "managed_identity",
    "WorkloadIdentityTokenProvider": "workload_identity",
}


def storage_options(path: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the storage options of a path, for Hadoop's settings.

    Args:
        path: The path as Hadoop writes it, with or without a scheme.
        settings: The settings.

    Raises:
        InvalidArgumentError: ``argument.hadoop``: a setting is not one of a file system.
        UnsupportedFeatureError: ``spark.hadoop``: a setting of the path's store has no counterpart.

    >>> keys = {"fs.azure.account.key.a.dfs.core.windows.net": "x", "fs.azure.account.key": "y"}
    >>> storage_options("abfss://c@a.dfs.core.windows.net/t", keys)
    {'azure_storage_account_key': 'x'}
    >>> storage_options("abfss://c@b.dfs.core.windows.net/t", keys)
    {'azure_storage_account_key': 'y'}
    """
    other = sorted(key for key in settings if not key.startswith(("fs.", "dfs.")))
    if other:
        raise InvalidArgumentError(
            f"hadoopConf takes settings of file systems, which begin with fs. or dfs., not "
            f"{', '.join(other)}",
            code="argument.hadoop",
        )
    location = urlsplit(path)
    if location.scheme in ("hdfs", "viewfs"):
        return dict(settings)
    prefix = _PREFIXES.get(location.scheme)
    if prefix is None:
        return {}
    applied, names = _applied_settings(location.netloc, prefix, settings)
    derived = _derived_options(applied, location.netloc)
    unknown = sorted(names[key] for key in applied if key not in _OPTIONS[prefix])
    if unknown:
        raise UnsupportedFeatureError(
            f"the setting {unknown[0]} is not supported: pass a deltareplay.Table with "
            "storage_options instead of the path",
            code="spark.hadoop",
        )
    return {_OPTIONS[prefix][key]: value for key, value in applied.items()} | derived


def _applied_settings(
    authority: str, prefix: str, settings: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings that apply, by their names without bucket and account.

    Returns:
        Their values, and their full names.
    """
    without_owner = _without_bucket if prefix == _S3A else _without_account
    applied = []
    for name, value in settings.items():
        if name.startswith(prefix):
            key, precedence = without_owner(name, authority)
            if precedence is not None:
                applied.append((precedence, key, value, name))
    applied.sort(key=lambda setting: setting[0])
    return (
        {key: value for _, key, value, _ in applied},
        {key: name for _, key, _, name in applied},
    )


def _without_bucket(name: str, bucket: str) -> tuple[str, int | None]:
    """Return the general name, and the precedence; this is None for another bucket."""
    if not name.startswith("fs.s3a.bucket."):
        return name, 0
    own = f"fs.s3a.bucket.{bucket}."
    return name.replace(own, _S3A, 1), 1 if name.startswith(own) else None


def _without_account(name: str, authority: str) -> tuple[str, int | None]:
    """Return the general name, and the precedence; this is None for another account."""
    general = next((key for key in _AZURE_SETTINGS if name.startswith(f"{key}.")), None)
    if general is None:
        return name, 0
    container, _, account = authority.partition("@")
    if not account:  # the path names no account
        return general, 1
    suffix = name.removeprefix(f"{general}.")
    return general, {account: 1, f"{container}.{account}": 2}.get(suffix)


def _derived_options(settings: dict[str, str], bucket: str) -> dict[str, str]:
    """Remove the settings whose values need a conversion; return their storage options.

    >>> endpoint = {"fs.s3a.endpoint": "minio:9000", "fs.s3a.connection.ssl.enabled": "false"}
    >>> _derived_options(endpoint, "b")
    {'aws_endpoint': 'http://minio:9000', 'aws_allow_http': 'true'}
    """
    options: dict[str, str] = {}
    is_plain = settings.pop("fs.s3a.connection.ssl.enabled", "").lower() == "false"
    path_style = settings.pop("fs.s3a.path.style.access", None)
    if path_style is not None:
        options["aws_virtual_hosted_style_request"] = str(path_style.lower() != "true").lower()
    if endpoint := settings.pop("fs.s3a.endpoint", ""):
        if "://" not in endpoint:
            endpoint = f"{'http' if is_plain else 'https'}://{endpoint}"
        if options.get("aws_virtual_hosted_style_request") == "true":
            endpoint = endpoint.replace("://", f"://{bucket}.", 1)
        options["aws_endpoint"] = endpoint
        if endpoint.startswith("http://"):
            options["aws_allow_http"] = "true"
    # S3A uses the first class that has credentials; without the keys, only the anonymous one does
    providers = settings.get("fs.s3a.aws.credentials.provider", "").split(",")
    classes = [_class_of(provider.strip()) for provider in providers]
    if all(name in _S3A_PROVIDERS for name in classes):
        del settings["fs.s3a.aws.credentials.provider"]
        has_keys = "fs.s3a.access.key" in settings
        if classes[0] == _S3A_ANONYMOUS or (_S3A_ANONYMOUS in classes and not has_keys):
            options["aws_skip_signature"] = "true"
    kind = settings.get("fs.azure.account.auth.type", "")
    if kind == "OAuth":
        kind = _class_of(settings.get("fs.azure.account.oauth.provider.type", ""))
    if kind in _AZURE_CREDENTIALS:
        options["azure_credential_type"] = _AZURE_CREDENTIALS[kind]
        del settings["fs.azure.account.auth.type"]
        settings.pop("fs.azure.account.oauth.provider.type", None)
    if token_endpoint := settings.pop("fs.azure.account.oauth2.client.endpoint", None):
        address = urlsplit(token_endpoint)
        options["azure_storage_authority_host"] = f"{address.scheme}://{address.netloc}"
        options["azure_storage_tenant_id"] = address.path.strip("/").partition("/")[0]
    return options


def _class_of(name: str) -> str:
    return name.rpartition(".")[2]
