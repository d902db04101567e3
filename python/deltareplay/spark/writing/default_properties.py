"""Properties of new tables from the settings of a session."""

from __future__ import annotations

from collections.abc import Mapping

from deltareplay import _native
from deltareplay._protocol.protocol import Protocol
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.schema.fields import field, struct
from deltareplay.spark.session.settings import DEFAULT_PROPERTY
from deltareplay.spark.writing.target_table import check_writable

_IGNORED = "delta.ignoreProtocolDefaults"

#: What else asks for a protocol, beside features.
_OF_PROTOCOL = ("delta.minreaderversion", "delta.minwriterversion", _IGNORED.lower())


def merged(settings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a new table: its own, and what the session has beside them.

    As in delta-spark, settings that name no property are ignored.

    Args:
        settings: Those of the session, by their whole names.
        own: The properties that the new table was given.

    Raises:
        InvalidArgumentError: ``spark.setting``: a property cannot have the value of a setting.
        UnsupportedFeatureError: ``spark.setting``: a setting asks for a feature that cannot be
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
    """Whether a setting names a property, of a table that can be written."""
    try:
        known = _native.checked_property(name, value)
        if known != name and not name.startswith("delta.feature."):
            return False
        if name.lower() in _OF_PROTOCOL:
            return True
        columns = struct([field("id", "long")])
        _, facts = _native.new_table(columns, [], {name: value})
        check_writable(Protocol(*facts))
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
