use super::*;

#[test]
fn defaults_are_valid_values() {
    for (key, rule, default) in PROPERTIES {
        if let Some(default) = default
            && !matches!(rule, Internal)
        {
            assert_eq!(checked_property(key, default).unwrap(), *key);
        }
    }
}

#[test]
fn default_of_is_case_insensitive() {
    assert_eq!(default_of("DELTA.CHECKPOINTINTERVAL"), Some("10"));
    assert_eq!(default_of("delta.setTransactionRetentionDuration"), None);
    assert_eq!(default_of("owner"), None);
}

#[test]
fn accepts_and_rejects_values_as_delta_spark() {
    for (key, value, stored) in [
        ("delta.APPENDONLY", "True", "delta.appendOnly"),
        (
            "delta.setTransactionRetentionDuration",
            "2 weeks",
            "delta.setTransactionRetentionDuration",
        ),
        (
            "delta.dataSkippingNumIndexedCols",
            "-1",
            "delta.dataSkippingNumIndexedCols",
        ),
        (
            "delta.universalFormat.enabledFormats",
            "hudi,iceberg",
            "delta.universalFormat.enabledFormats",
        ),
        (
            "delta.constraints.Positive",
            "a > 0",
            "delta.constraints.positive",
        ),
        (
            "delta.feature.DELETIONVECTORS",
            "enabled",
            "delta.feature.deletionVectors",
        ),
        (
            "delta.parquet.format.version",
            "2.9.0",
            "delta.parquet.format.version",
        ),
        (
            "delta.parquet.compression.codec",
            "ZSTD",
            "delta.parquet.compression.codec",
        ),
        (
            "delta.requireCheckpointProtectionBeforeVersion",
            "2147483648",
            "delta.requireCheckpointProtectionBeforeVersion",
        ),
        ("owner", "anything", "owner"),
    ] {
        assert_eq!(checked_property(key, value).unwrap(), stored);
    }
    for (key, value, code) in [
        ("delta.foo", "1", "properties.unknown"),
        ("delta.appendOnly", "maybe", "properties.value"),
        ("delta.checkpointInterval", "0", "properties.value"),
        ("delta.checkpointInterval", " 10 ", "properties.value"),
        // an `Int` in delta-spark
        ("delta.checkpointInterval", "2147483648", "properties.value"),
        (
            "delta.requireCheckpointProtectionBeforeVersion",
            "-1",
            "properties.value",
        ),
        (
            "delta.isolationLevel",
            "WriteSerializable",
            "properties.value",
        ),
        (
            "delta.logRetentionDuration",
            "interval 1 month",
            "properties.value",
        ),
        ("delta.dataSkippingNumIndexedCols", "-2", "properties.value"),
        (
            "delta.universalFormat.enabledFormats",
            "x",
            "properties.value",
        ),
        ("delta.parquet.format.version", "3.0.0", "properties.value"),
        ("delta.parquet.compression.codec", "foo", "properties.value"),
        (
            "delta.columnMapping.maxColumnId",
            "3",
            "properties.internal",
        ),
        (
            "delta.feature.appendOnly",
            "yes",
            "properties.feature_status",
        ),
        ("delta.feature.x", "supported", "protocol.unknown_feature"),
    ] {
        let error = checked_property(key, value).unwrap_err();
        assert_eq!(error.code(), code, "{key}: {error}");
    }
}

#[test]
fn rejects_contradictory_properties() {
    let check = |pairs: &[(&str, &str)]| {
        let map = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        check_combination(&map.collect())
    };
    let log = "delta.logRetentionDuration";
    check(&[]).unwrap();
    check(&[(log, "interval 7 days")]).unwrap();
    check(&[
        (log, "interval 1 day"),
        ("delta.deletedFileRetentionDuration", "1 hour"),
    ])
    .unwrap();
    for pairs in [
        &[(log, "interval 1 day")][..],
        &[("delta.deletedFileRetentionDuration", "interval 31 days")],
        &[
            ("delta.enableRowTracking", "true"),
            ("delta.rowTrackingSuspended", "true"),
        ],
    ] {
        assert_eq!(check(pairs).unwrap_err().code(), "properties.combination");
    }
}

#[test]
fn properties_of_the_protocol_are_consumed() {
    for key in [
        "delta.minreaderversion",
        "delta.minWriterVersion",
        "delta.feature.x",
        "DELTA.ignoreProtocolDefaults",
    ] {
        assert!(is_protocol_key(key), "{key}");
    }
    assert!(!is_protocol_key("delta.appendOnly"));
}
