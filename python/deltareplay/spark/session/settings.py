"""Settings of Spark and delta-spark that deltareplay obeys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


#: The prefix of settings with default properties of new tables.
DEFAULT_PROPERTY = "spark.databricks.delta.properties.defaults."

#: Settings of idempotent writes.
TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
TXN_RESET = "spark.databricks.delta.write.txnVersion.autoReset.enabled"

PARTITION_OVERWRITE = "spark.sql.sources.partitionOverwriteMode"
STORE_ASSIGNMENT = "spark.sql.storeAssignmentPolicy"


def merges_schemas(spark: SparkSession) -> bool:
    """Return whether all writes and merges of the session may add columns."""
    return _flag(spark, "spark.databricks.delta.schema.autoMerge.enabled", default=False)


def user_metadata(spark: SparkSession) -> str | None:
    """Return the user metadata of the session's commits."""
    text: str | None = spark.conf.get("spark.databricks.delta.commitInfo.userMetadata", None)
    return text


def transaction(spark: SparkSession) -> tuple[str, int] | None:
    """Return the application id and version that make the session's writes idempotent.

    Raises:
        InvalidArgumentError: ``spark.setting``: only one of the two is set; the version is not an
            integer; or ``TXN_RESET`` is true.
    """
    application, version = spark.conf.get(TXN_APP_ID, None), spark.conf.get(TXN_VERSION, None)
    if application is None and version is None:
        return None
    if application is None or version is None:
        raise InvalidArgumentError(
            f"{TXN_VERSION} counts the writes of {TXN_APP_ID}: set both, or neither",
            code="spark.setting",
        )
    if _flag(spark, TXN_RESET, default=False):
        raise InvalidArgumentError(
            f"{TXN_RESET} is not supported, because deltareplay never changes the session: pass "
            "txn=(application, version), or turn it off and set the version for each write",
            code="spark.setting",
        )
    try:
        return application, int(version)
    except ValueError:
        raise InvalidArgumentError(
            f"{TXN_VERSION} is {version!r}: set it to an integer", code="spark.setting"
        ) from None


def default_properties(spark: SparkSession) -> dict[str, str]:
    """Return the session's default properties of new tables, by the names of the settings."""
    settings: Any = spark.conf.getAll
    return {name: value for name, value in settings.items() if name.startswith(DEFAULT_PROPERTY)}


def store_assignment(spark: SparkSession) -> str:
    """Return the store assignment policy (``ANSI``, ``LEGACY`` or ``STRICT``)."""
    return str(spark.conf.get(STORE_ASSIGNMENT, "ANSI")).upper()


def name_key(spark: SparkSession) -> Callable[[str], str]:
    """Return the function that makes names comparable: ``str.lower``, or ``str``.

    Names that differ only in case are the same, unless ``spark.sql.caseSensitive`` is true.
    """
    return str if _flag(spark, "spark.sql.caseSensitive", default=False) else str.lower


def write_options(spark: SparkSession) -> dict[str, Any]:
    """Return the settings of the session that apply to a write by the format ``deltareplay``.

    The keys are ``timeZone``, ``properties``, and names of options of the format.
    """
    options: dict[str, Any] = {"timeZone": capabilities.time_zone(spark)}
    if merges_schemas(spark):
        options["mergeSchema"] = True
    text = user_metadata(spark)
    if text is not None:
        options["userMetadata"] = text
    properties = default_properties(spark)
    if properties:
        options["properties"] = properties
    return options


def batch_write_options(spark: SparkSession) -> dict[str, Any]:
    """Return ``write_options``, and the settings that streams ignore, as in delta-spark.

    The key ``txn`` stands for the options ``txnAppId`` and ``txnVersion``.
    """
    options = write_options(spark)
    txn = transaction(spark)
    if txn is not None:
        options["txn"] = txn
    if overwrites_partitions(spark):
        options["partitionOverwriteMode"] = "dynamic"
    return options


def optimizes_writes(spark: SparkSession) -> bool | None:
    """Return whether rows are shuffled before a write; None leaves it to the table."""
    name = "spark.databricks.delta.optimizeWrite.enabled"
    return None if spark.conf.get(name, None) is None else _flag(spark, name, default=False)


def repartitions_merges(spark: SparkSession) -> bool:
    """Return whether a merge shuffles its rows by the partition columns before the write."""
    return _flag(spark, "spark.databricks.delta.merge.repartitionBeforeWrite.enabled", default=True)


def compacts(spark: SparkSession) -> bool | None:
    """Return whether small files are compacted after a write; None leaves it to the table.

    Any value but ``false`` enables it: delta-spark also allows ``auto`` and ``legacy``.
    """
    value = spark.conf.get("spark.databricks.delta.autoCompact.enabled", None)
    return None if value is None else value.strip().lower() != "false"


def checks_retention(spark: SparkSession) -> bool:
    """Return whether ``VACUUM`` rejects a retention period shorter than the table's."""
    return _flag(spark, "spark.databricks.delta.retentionDurationCheck.enabled", default=True)


def omits_columns(spark: SparkSession) -> bool:
    """Return whether ``INSERT`` may omit columns that have no default."""
    name = "spark.sql.defaultColumn.useNullsForMissingDefaultValues"
    return _flag(spark, name, default=True)


def overwrites_partitions(spark: SparkSession) -> bool:
    """Return whether an overwrite replaces only the partitions of the new rows."""
    mode = spark.conf.get(PARTITION_OVERWRITE, "static")
    return str(mode).lower() == "dynamic"


def _flag(spark: SparkSession, name: str, *, default: bool) -> bool:
    """Return the value of a setting; raise ``spark.setting`` if it is neither true nor false."""
    value = str(spark.conf.get(name, str(default)))
    if value.strip().lower() not in ("true", "false"):
        raise InvalidArgumentError(
            f"{name} is {value!r}: set it to true or false", code="spark.setting"
        )
    return value.strip().lower() == "true"
