"""Table properties of new tables from the session's settings."""

from __future__ import annotations

from collections.abc import Mapping

from deltareplay import _native
from deltareplay._protocol.schema import Field, schema_json
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.session.settings import DEFAULT_PROPERTY
from deltareplay.spark.writing.target_table import check_writable

_IGNORED = "delta.ignoreProtocolDefaults"

#: Properties that affect the protocol, besides features.
_OF_PROTOCOL = ("delta.minreaderversion", "delta.minwriterversion", _IGNORED.lower())


def merged(settings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a new table: its own, and the session's defaults for the others.

    As in delta-spark, settings that are not properties are ignored.

    Args:
        settings: The session's settings, by their full names.
        own: The properties in the definition of the table.

    Raises:
        InvalidArgumentError: ``spark.setting``: a property cannot have the value of a setting.
        UnsupportedFeatureError: ``spark.setting``: a setting enables a feature that cannot be
            written.
    """
    properties = {name.lower(): value for name, value in own.items()}
    defaults: dict[str, str] = {}
    for setting, value in sorted(settings.items()):
        name = f"delta.{setting.removeprefix(DEFAULT_PROPERTY)}"
        if name.lower() not in properties and _is_property(setting, name, value):
            defaults[name] = value
    ignored = {name.lower(): value for name, value in defaults.items()} | properties
    if ignored.get(_IGNORED.lower(), "false").lower() == "true":
        defaults = {name: value for name, value in defaults.items() if not _asks_protocol(name)}
        if _IGNORED.lower() not in properties:
            defaults[_IGNORED] = "true"
    return {**defaults, **own}


def _asks_protocol(name: str) -> bool:
    return name.lower() in _OF_PROTOCOL or name.lower().startswith("delta.feature.")


def _is_property(setting: str, name: str, value: str) -> bool:
    """Return whether a setting is a table property that can be set here."""
    try:
        checked = _native.checked_property(name, value)
        if checked != name and not name.startswith("delta.feature."):
            return False
        if name.lower() in _OF_PROTOCOL:
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
            f"the setting {setting} is {value!r}: {error}; unset it, or give new tables the "
            "property false",
            code="spark.setting",
        ) from error
    return True
