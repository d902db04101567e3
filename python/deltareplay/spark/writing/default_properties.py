"""Table properties of new tables from the session's settings."""

from __future__ import annotations

from collections.abc import Mapping

from deltareplay import _native
from deltareplay._protocol.schema import Field, schema_json
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.session.settings import DEFAULT_PROPERTY
from deltareplay.spark.writing.target_table import check_writable

_IGNORE_DEFAULTS = "delta.ignoreProtocolDefaults"

#: Properties that affect the protocol, besides features.
_PROTOCOL_PROPERTIES = (
    "delta.minreaderversion",
    "delta.minwriterversion",
    _IGNORE_DEFAULTS.lower(),
)


def with_defaults(settings: Mapping[str, str], explicit: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a new table: its own, and the session's defaults for the others.

    As in delta-spark, settings that name no known property are ignored.

    Args:
        settings: The session's settings of default properties, by their full names: the prefix
            ``spark.databricks.delta.properties.defaults.``, then a property without ``delta.``.
        explicit: The properties in the definition of the table.

    Raises:
        InvalidArgumentError: ``spark.setting``: a setting has a value that its property does not
            allow.
        UnsupportedFeatureError: ``spark.setting``: a setting enables a feature that cannot be
            written.
    """
    properties = {name.lower(): value for name, value in explicit.items()}
    defaults: dict[str, str] = {}
    for setting, value in sorted(settings.items()):
        name = f"delta.{setting.removeprefix(DEFAULT_PROPERTY)}"
        if name.lower() not in properties and _is_property(setting, name, value):
            defaults[name] = value
    effective = {name.lower(): value for name, value in defaults.items()} | properties
    if effective.get(_IGNORE_DEFAULTS.lower(), "false").lower() == "true":
        defaults = {name: value for name, value in defaults.items() if not _sets_protocol(name)}
        if _IGNORE_DEFAULTS.lower() not in properties:
            defaults[_IGNORE_DEFAULTS] = "true"
    return {**defaults, **explicit}


def _sets_protocol(name: str) -> bool:
    return name.lower() in _PROTOCOL_PROPERTIES or name.lower().startswith("delta.feature.")


def _is_property(setting: str, name: str, value: str) -> bool:
    """Return whether a setting is a table property; raise if a new table cannot have its value."""
    try:
        checked = _native.checked_property(name, value)
        # names of settings are case-sensitive, except those of features, as in delta-spark
        if checked != name and not name.startswith("delta.feature."):
            return False
        if name.lower() in _PROTOCOL_PROPERTIES:
            return True
        columns = schema_json([Field("id", "long")])
        _, protocol = _native.new_table(columns, [], {name: value})
        check_writable(protocol)
    except InvalidArgumentError as error:
        if error.code == "properties.unknown":
            return False
        raise InvalidArgumentError(
            f"the setting {setting} is {value!r}: {error}", code="spark.setting"
        ) from error
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(
            f"the setting {setting} is {value!r}, for new tables: {error}; or unset the setting",
            code="spark.setting",
        ) from error
    return True
