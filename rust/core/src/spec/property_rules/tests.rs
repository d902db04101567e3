use super::*;

fn checked(key: &str, value: &str) -> Result<String> {
    checked_property(key, value)
}

/// Values and defaults of the table of properties in the protocol digest, 10.9.
#[test]
fn every_default_is_a_value_of_its_property() {
    for (key, takes, default) in PROPERTIES {
        if let Some(default) = default
            && !matches!(takes, Internal)
        {
            assert_eq!(checked(key, default).unwrap(), *key);
        }
    }
    assert_eq!(default_of("DELTA.CHECKPOINTINTERVAL"), Some("10"));
    assert_eq!(default_of("delta.setTransactionRetentionDuration"), None);
    assert_eq!(default_of("owner"), None);
}

/// Values that delta-spark 4.3 accepts and refuses.
#[test]
fn values_are_judged() {
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
        ("owner", "anything", "owner"),
    ] {
        assert_eq!(checked(key, value).unwrap(), stored);
    }
    for (key, value, code) in [
        ("delta.foo", "1", "properties.unknown"),
        ("delta.appendOnly", "maybe", "properties.value"),
        ("delta.checkpointInterval", "0", "properties.value"),
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
        let error = checked(key, value).unwrap_err();
        assert_eq!(error.code(), code, "{key} {error}");
    }
}

#[test]
fn properties_agree_with_each_other() {
    let checked = |pairs: &[(&str, &str)]| {
        let map = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        check_combination(&map.collect())
    };
    let log = "delta.logRetentionDuration";
    checked(&[]).unwrap();
    checked(&[(log, "interval 7 days")]).unwrap();
    checked(&[
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
        assert_eq!(checked(pairs).unwrap_err().code(), "properties.combination");
    }
}

#[test]
fn what_is_consumed() {
    for key in [
        "delta.minreaderversion",
        "delta.minWriterVersion",
        "delta.feature.x",
        "DELTA.ignoreProtocolDefaults",
    ] {
        assert!(is_consumed(key), "{key}");
    }
    assert!(!is_consumed("delta.appendOnly"));
}
