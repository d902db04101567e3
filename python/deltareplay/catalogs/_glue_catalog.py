"""``GlueCatalog``: tables by name from the AWS Glue Data Catalog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from deltareplay._support.arguments import checked_methods
from deltareplay.catalogs._catalog import Credentials, Located
from deltareplay.catalogs._glue_errors import to_exception
from deltareplay.catalogs._glue_storage import GlueStorage, credentials_of
from deltareplay.catalogs._hive_entry import HiveEntry
from deltareplay.catalogs._names import table_parts
from deltareplay.catalogs._response_values import field_of, string_map_of
from deltareplay.catalogs._rest import check_address
from deltareplay.catalogs._timely import in_time
from deltareplay.exceptions import StorageError, UnsupportedFeatureError

if TYPE_CHECKING:
    import boto3

T = TypeVar("T")


@checked_methods
class GlueCatalog:
    """The AWS Glue Data Catalog: finds tables by name. Needs boto3.

    Tables on S3 are opened with the credentials of the boto3 session, which are renewed if they
    expire. They are never printed or logged, but a pickled table has those that do not expire.

    Args:
        region: The region of the catalog, and of its tables; by default the session's.
        catalog_id: The account whose catalog it is; by default the session's.
        endpoint_url: Another address of Glue, e.g. of a VPC endpoint.
        profile: The profile in the configuration of AWS.
        session: A boto3 session of your own, instead of a profile. It cannot be pickled.
        timeout: Seconds to wait for a complete response.

    Raises:
        UnsupportedFeatureError: boto3 is not installed (``catalog.package``).
        InvalidArgumentError: There is no region or no such profile, or ``endpoint_url`` is invalid
            (``catalog.address``).

    Source: the API of AWS Glue, ``GetTable``.

    >>> from deltareplay.catalogs import GlueCatalog
    >>> GlueCatalog(region="eu-west-1")  # doctest: +SKIP
    GlueCatalog(region='eu-west-1')
    """

    def __init__(
        self,
        *,
        region: str | None = None,
        catalog_id: str | None = None,
        endpoint_url: str | None = None,
        profile: str | None = None,
        session: boto3.Session | None = None,
        timeout: float = 60.0,
    ) -> None:
        try:
            import boto3
            from botocore.config import Config
        except ImportError as error:
            raise UnsupportedFeatureError(
                "GlueCatalog needs boto3: pip install boto3", code="catalog.package"
            ) from error
        if endpoint_url is not None:
            check_address(endpoint_url, "credentials are those of the session")
        self._arguments: dict[str, Any] = {
            "region": region,
            "catalog_id": catalog_id,
            "endpoint_url": endpoint_url,
            "profile": profile,
            "session": session,
            "timeout": timeout,
        }
        self._config = Config(
            connect_timeout=timeout, read_timeout=timeout, retries={"mode": "standard"}
        )

        def client() -> Any:
            self._session = session or boto3.Session(profile_name=profile)
            return self._session.client(
                "glue", region_name=region, endpoint_url=endpoint_url, config=self._config
            )

        self._client = _call_aws(client, "the catalog")

    def locate(self, name: str) -> Located:
        """Find a table: one request, or two for a link to a table of another account or region.

        Args:
            name: ``database.table``, with or without ``glue://`` in front. Glue has all names in
                lower case.

        Raises:
            TableNotFoundError: There is no such table (``catalog.no_table``), or it is not a Delta
                table (``catalog.not_delta``), or it has no location (``catalog.no_location``).
            InvalidArgumentError: The name (``catalog.name``) or the region of a link
                (``catalog.address``) is invalid; or AWS rejects the credentials
                (``catalog.denied``) or the request (``catalog.refused``).
            StorageError: Glue does not respond (``catalog.unreachable``), or its response is
                invalid (``catalog.response``).
        """
        database, table = (part.lower() for part in table_parts(name, ("glue",), "database.table"))
        name = f"{database}.{table}"
        client = self._client
        entry = self._table(client, name, self._arguments["catalog_id"], database, table)
        try:
            target = field_of(entry, "TargetTable", dict)
            if target:
                region, account = (field_of(target, key, str) for key in ("Region", "CatalogId"))
                parts = field_of(target, "DatabaseName", str), field_of(target, "Name", str)
                client = self._client_in(region or None)
                entry = self._table(client, name, account, *parts)
            root = _hive_entry(entry, name).root()
        except TypeError as error:
            raise _invalid(name, str(error)) from None
        if not root.startswith(("s3://", "s3a://")):
            return Located(root)
        region_option = {"aws_region": client.meta.region_name}
        credentials = self._credentials()
        if credentials.expires_at is not None:
            return Located(root, GlueStorage(self), region_option)
        return Located(root, None, {**region_option, **credentials.storage_options})

    def _client_in(self, region: str | None) -> Any:
        """Return a client of another region, at the default address of that region."""
        if region in (None, self._client.meta.region_name):
            return self._client
        make = self._session.client
        return _call_aws(
            lambda: make("glue", region_name=region, config=self._config), "the catalog"
        )

    def _table(
        self, client: Any, name: str, catalog_id: str | None, database: str, table: str
    ) -> dict[str, Any]:
        request = {"DatabaseName": database, "Name": table}
        if catalog_id:
            request["CatalogId"] = catalog_id
        entry: dict[str, Any] = _call_aws(
            lambda: field_of(self._in_time(lambda: client.get_table(**request)), "Table", dict),
            name,
            lambda: tuple(self._credentials().storage_options.values()),
        )
        return entry

    def _credentials(self) -> Credentials:
        return _call_aws(
            lambda: self._in_time(lambda: credentials_of(self._session)), "access to S3"
        )

    def _in_time(self, call: Callable[[], T]) -> T:
        return in_time(call, self._arguments["timeout"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlueCatalog) and self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash(self._arguments["region"])

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (self._arguments,)

    def __repr__(self) -> str:
        arguments = {key: self._arguments[key] for key in ("region", "catalog_id", "profile")}
        return f"GlueCatalog({', '.join(f'{k}={v!r}' for k, v in arguments.items() if v)})"


def _hive_entry(entry: dict[str, Any], name: str) -> HiveEntry:
    descriptor = field_of(entry, "StorageDescriptor", dict)
    return HiveEntry(
        name,
        kind=field_of(entry, "TableType", str),
        location=field_of(descriptor, "Location", str),
        input_format=field_of(descriptor, "InputFormat", str),
        parameters=string_map_of(entry, "Parameters"),
        serde_parameters=string_map_of(field_of(descriptor, "SerdeInfo", dict), "Parameters"),
    )


def _call_aws(call: Callable[[], T], name: str, secrets: Callable[[], Sequence[str]] = tuple) -> T:
    """Call boto3; convert its exceptions to ours, without the original as context.

    ``secrets`` returns those that an error's response may repeat.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return call()
    except (BotoCoreError, ClientError, TimeoutError, ValueError) as error:
        failure: Exception = error  # ValueError: an invalid address
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise _invalid(name, str(error)) from None  # botocore parses a response without checks
    # without the original as context: its text may contain the signed request or the token
    raise to_exception(failure, name, secrets() if isinstance(failure, ClientError) else ())


def _invalid(name: str, problem: str) -> StorageError:
    return StorageError(
        f"Glue's response to the request for {name} is invalid: {problem}", code="catalog.response"
    )


def _unpickled(arguments: dict[str, Any]) -> GlueCatalog:
    return GlueCatalog(**arguments)
