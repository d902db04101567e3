//! The table properties, and the rules for their values, which writers check. Keys are case-insensitive
//! and stored in canonical case.
//!
//! Protocol: "Table Properties"; names, defaults and rules as in delta-spark.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::spec::features::known_feature;
use crate::spec::file_size::parse_file_size;
use crate::spec::interval::parse_interval;
use crate::spec::json::clipped;
use crate::spec::properties::find_property;
use ValueRule::{
    Boolean, FileSize, FormatVersion, Integer, Internal, Interval, ListOf, OneOf, Text, Version,
};

/// The valid values of a property.
#[derive(Clone, Copy, Debug)]
enum ValueRule {
    Boolean,
    Interval,
    /// A 32-bit integer of at least this value.
    Integer(i32),
    /// A version of the table.
    Version,
    OneOf(&'static [&'static str]),
    /// Values of this list, separated by commas.
    ListOf(&'static [&'static str]),
    FormatVersion,
    /// A file size in bytes.
    FileSize,
    Text,
    /// Set by writers, never by users.
    Internal,
}

const FEATURE: &str = "delta.feature.";

/// Keys that select the protocol of a table and are never stored.
const PROTOCOL_KEYS: [&str; 3] = [
    "delta.minReaderVersion",
    "delta.minWriterVersion",
    "delta.ignoreProtocolDefaults",
];

const CODECS: [&str; 8] = [
    "uncompressed",
    "none",
    "snappy",
    "gzip",
    "lz4",
    "lz4_raw",
    "zstd",
    "brotli",
];

/// The name of a property, the rule for its values, and its default if it has one.
type Property = (&'static str, ValueRule, Option<&'static str>);

/// The properties, except `delta.feature.*`, `delta.constraints.*` and `delta.universalFormat.config.*`.
const PROPERTIES: &[Property] = &[
    (
        "delta.logRetentionDuration",
        Interval,
        Some("interval 30 days"),
    ),
    (
        "delta.deletedFileRetentionDuration",
        Interval,
        Some("interval 1 week"),
    ),
    (
        "delta.sampleRetentionDuration",
        Interval,
        Some("interval 7 days"),
    ),
    (
        "delta.checkpointRetentionDuration",
        Interval,
        Some("interval 2 days"),
    ),
    ("delta.checkpointInterval", Integer(1), Some("10")),
    ("delta.enableExpiredLogCleanup", Boolean, Some("true")),
    ("delta.enableFullRetentionRollback", Boolean, Some("true")),
    (
        "delta.dropFeatureTruncateHistory.retentionDuration",
        Interval,
        Some("interval 24 hours"),
    ),
    ("delta.setTransactionRetentionDuration", Interval, None),
    ("delta.randomizeFilePrefixes", Boolean, Some("false")),
    ("delta.randomPrefixLength", Integer(1), Some("2")),
    ("delta.appendOnly", Boolean, Some("false")),
    ("delta.enableDeletionVectors", Boolean, Some("false")),
    ("delta.dataSkippingNumIndexedCols", Integer(-1), Some("32")),
    ("delta.dataSkippingStatsColumns", Text, None),
    ("delta.dataSkippingStringPrefixLength", Integer(0), None),
    ("delta.checkpoint.writeStatsAsJson", Boolean, Some("true")),
    ("delta.checkpoint.writeStatsAsStruct", Boolean, Some("true")),
    ("delta.enableChangeDataFeed", Boolean, Some("false")),
    ("delta.enableChangeDataCapture", Boolean, None),
    (
        "delta.columnMapping.mode",
        OneOf(&["none", "name", "id"]),
        Some("none"),
    ),
    ("delta.columnMapping.maxColumnId", Internal, Some("0")),
    (
        "delta.isolationLevel",
        OneOf(&["Serializable"]),
        Some("Serializable"),
    ),
    (
        "delta.checkpointPolicy",
        OneOf(&["classic", "v2"]),
        Some("classic"),
    ),
    ("delta.enableRowTracking", Boolean, Some("false")),
    ("delta.rowTrackingSuspended", Boolean, Some("false")),
    (
        "delta.rowTracking.materializedRowIdColumnName",
        Internal,
        None,
    ),
    (
        "delta.rowTracking.materializedRowCommitVersionColumnName",
        Internal,
        None,
    ),
    ("delta.enableTypeWidening", Boolean, Some("false")),
    ("delta.enableInCommitTimestamps", Boolean, Some("false")),
    ("delta.inCommitTimestampEnablementVersion", Internal, None),
    ("delta.inCommitTimestampEnablementTimestamp", Internal, None),
    ("delta.enableVariantShredding", Boolean, Some("false")),
    (
        "delta.requireCheckpointProtectionBeforeVersion",
        Version,
        Some("0"),
    ),
    ("delta.enableIcebergCompatV1", Boolean, None),
    ("delta.enableIcebergCompatV2", Boolean, None),
    ("delta.enableIcebergCompatV3", Boolean, None),
    ("delta.enableIcebergWriterCompatV1", Boolean, None),
    ("delta.enableIcebergWriterCompatV3", Boolean, None),
    (
        "delta.universalFormat.enabledFormats",
        ListOf(&["iceberg", "hudi"]),
        None,
    ),
    (
        "delta.coordinatedCommits.commitCoordinator-preview",
        Text,
        None,
    ),
    (
        "delta.coordinatedCommits.commitCoordinatorConf-preview",
        Text,
        None,
    ),
    ("delta.coordinatedCommits.tableConf-preview", Text, None),
    (
        "delta.enableMaterializePartitionColumnsFeature",
        Boolean,
        None,
    ),
    (
        "delta.writePartitionColumnsToParquet",
        Boolean,
        Some("false"),
    ),
    ("delta.autoOptimize", Boolean, None),
    ("delta.autoOptimize.optimizeWrite", Boolean, None),
    (
        "delta.autoOptimize.autoCompact",
        OneOf(&["true", "auto", "legacy", "false"]),
        None,
    ),
    ("delta.targetFileSize", FileSize, None),
    (
        "delta.compatibility.symlinkFormatManifest.enabled",
        Boolean,
        Some("false"),
    ),
    ("delta.parquet.compression.codec", OneOf(&CODECS), None),
    ("delta.parquet.format.version", FormatVersion, Some("1.0.0")),
    ("delta.redirectReaderWriter-preview", Text, None),
    ("delta.redirectWriterOnly-preview", Text, None),
    ("delta.minReaderVersion", Integer(1), None),
    ("delta.minWriterVersion", Integer(1), None),
    ("delta.ignoreProtocolDefaults", Boolean, None),
];

/// Returns delta-spark's default of a property; `None` if it has none.
pub fn default_of(key: &str) -> Option<&'static str> {
    known_property(key).and_then(|(_, _, default)| *default)
}

fn known_property(key: &str) -> Option<&'static Property> {
    PROPERTIES
        .iter()
        .find(|(name, ..)| name.eq_ignore_ascii_case(key))
}

/// Returns `true` if the key selects the protocol of a table: such keys are never stored.
pub fn is_protocol_key(key: &str) -> bool {
    PROTOCOL_KEYS
        .iter()
        .any(|name| name.eq_ignore_ascii_case(key))
        || feature_name(key).is_some()
}

/// Returns the name in `delta.feature.<name>`.
pub fn feature_name(key: &str) -> Option<&str> {
    let (prefix, name) = key.split_at_checked(FEATURE.len())?;
    prefix.eq_ignore_ascii_case(FEATURE).then_some(name)
}

/// Checks properties and returns them in the stored form: keys in canonical case. Keys that do not begin
/// with `delta.` are the user's own.
///
/// # Errors
///
/// Invalid argument: `properties.unknown`, `properties.value`, `properties.internal`,
/// `properties.feature_status`, `protocol.unknown_feature`.
pub fn checked_properties<'a>(
    pairs: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<BTreeMap<String, String>> {
    pairs
        .into_iter()
        .map(|(key, value)| Ok((checked_property(key, value)?, value.clone())))
        .collect()
}

/// Returns the canonical key of a property that a user may set to this value.
pub fn checked_property(key: &str, value: &str) -> Result<String> {
    if let Some(name) = feature_name(key) {
        let feature = known_feature(name)?;
        if !value.eq_ignore_ascii_case("supported") && !value.eq_ignore_ascii_case("enabled") {
            let message = format!(
                "{key} is {}: a feature can only be `supported`",
                clipped(value)
            );
            return Err(Error::invalid("properties.feature_status", message));
        }
        return Ok(format!("{FEATURE}{}", feature.name));
    }
    let lowered = key.to_ascii_lowercase();
    if !lowered.starts_with("delta.") {
        return Ok(key.to_owned());
    }
    if lowered.starts_with("delta.universalformat.config.")
        || lowered.starts_with("delta.constraints.")
    {
        return Ok(lowered);
    }
    let Some((name, rule, _)) = known_property(key) else {
        let message = format!(
            "{} is not a table property: names that begin with delta. are reserved for Delta Lake",
            clipped(key)
        );
        return Err(Error::invalid("properties.unknown", message));
    };
    check_value(name, *rule, value)?;
    Ok((*name).to_owned())
}

/// Returns `true` if both keys name the same property. Only the properties of Delta Lake ignore case.
pub fn is_same_property(left: &str, right: &str) -> bool {
    let ignores_case = left.to_ascii_lowercase().starts_with("delta.");
    left == right || (ignores_case && left.eq_ignore_ascii_case(right))
}

/// Checks that a user may remove a property.
///
/// # Errors
///
/// Invalid argument: `properties.internal`.
pub fn check_removable(key: &str) -> Result<()> {
    match known_property(key) {
        Some((name, Internal, _)) => Err(internal(name)),
        _ => Ok(()),
    }
}

fn internal(key: &str) -> Error {
    let message = format!("{key} is maintained by writers: it cannot be set or unset by hand");
    Error::invalid("properties.internal", message)
}

fn check_value(key: &str, rule: ValueRule, value: &str) -> Result<()> {
    let contains_value = |list: &[&str]| {
        list.iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(value))
    };
    let allowed = match rule {
        Boolean if contains_value(&["true", "false"]) => return Ok(()),
        Boolean => "true or false".to_owned(),
        Interval => match parse_interval(value) {
            Ok(_) => return Ok(()),
            Err(reason) => format!("an interval such as `interval 7 days` ({reason})"),
        },
        Integer(min) => match value.parse::<i32>() {
            Ok(number) if number >= min => return Ok(()),
            _ => format!("an integer from {min} to {}", i32::MAX),
        },
        Version => match value.parse::<i64>() {
            Ok(0..) => return Ok(()),
            _ => "a version of the table".to_owned(),
        },
        OneOf(list) if contains_value(list) => return Ok(()),
        OneOf(list) => list.join(" or "),
        ListOf(list) => {
            let known = |part: &str| list.contains(&part.trim().to_ascii_lowercase().as_str());
            if value.is_empty() || value.split(',').all(known) {
                return Ok(());
            }
            format!("a list of values among {}", list.join(", "))
        }
        FormatVersion if is_format_version(value) => return Ok(()),
        FormatVersion => "1.0.0 or 2.x.y".to_owned(),
        FileSize if parse_file_size(value).is_some() => return Ok(()),
        FileSize => "a positive number of bytes, or a size such as 128mb".to_owned(),
        Text => return Ok(()),
        Internal => return Err(internal(key)),
    };
    let message = format!("{key} must be {allowed}, not {}", clipped(value));
    Err(Error::invalid("properties.value", message))
}

fn is_format_version(value: &str) -> bool {
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    match value.split('.').collect::<Vec<_>>().as_slice() {
        ["2", minor, patch] => is_number(minor) && is_number(patch),
        _ => value == "1.0.0",
    }
}

/// Checks that the properties of a whole configuration do not contradict each other.
///
/// # Errors
///
/// Invalid argument: `properties.combination`.
pub fn check_combination(configuration: &BTreeMap<String, String>) -> Result<()> {
    let get = |key: &str| find_property(configuration, key);
    let interval = |key: &str| {
        let text = get(key).or(default_of(key)).unwrap_or_default();
        parse_interval(text).ok()
    };
    let (log, files) = (
        "delta.logRetentionDuration",
        "delta.deletedFileRetentionDuration",
    );
    if (get(log).is_some() || get(files).is_some())
        && let (Some(kept), Some(needed)) = (interval(log), interval(files))
        && kept < needed
    {
        let message = format!(
            "{log} must not be shorter than {files}: otherwise commits would be deleted before \
             the files of their versions"
        );
        return Err(Error::invalid("properties.combination", message));
    }
    let on = |key: &str| get(key).unwrap_or_default().eq_ignore_ascii_case("true");
    if on("delta.enableRowTracking") && on("delta.rowTrackingSuspended") {
        let message =
            "delta.enableRowTracking and delta.rowTrackingSuspended cannot both be true: unset one";
        return Err(Error::invalid("properties.combination", message));
    }
    let formats = get("delta.universalFormat.enabledFormats").unwrap_or_default();
    let mut formats = formats.split(',').map(str::trim);
    if formats.any(|format| format.eq_ignore_ascii_case("iceberg"))
        && !["V1", "V2", "V3"]
            .iter()
            .any(|rules| on(&format!("delta.enableIcebergCompat{rules}")))
    {
        let message = "delta.universalFormat.enabledFormats cannot be iceberg without one of \
            delta.enableIcebergCompatV1, V2 and V3";
        return Err(Error::invalid("properties.combination", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
