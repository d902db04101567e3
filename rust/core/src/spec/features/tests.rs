use super::*;
use std::collections::HashSet;

/// The versions that result from "Required Minimum Protocol" of the Spark `Protocol` document; its
/// append-only step prints 3, but its own demo asserts 2.
#[test]
fn versions_of_the_required_minimum_protocol() {
    for (name, reader, writer) in [
        ("invariants", 1, 2),
        ("appendOnly", 1, 2),
        ("checkConstraints", 1, 3),
        ("generatedColumns", 1, 4),
        ("changeDataFeed", 1, 4),
        ("identityColumns", 1, 6),
        ("columnMapping", 2, 5),
    ] {
        let feature = find_feature(name).unwrap();
        assert_eq!(
            (feature.min_reader_version, feature.min_writer_version),
            (reader, writer),
            "{name}"
        );
        assert!(feature.is_legacy());
    }
    assert_eq!(
        TABLE_FEATURES
            .iter()
            .filter(|feature| feature.is_legacy())
            .count(),
        7
    );
}

/// The list of valid feature names in the protocol's appendix.
#[test]
fn finds_features_of_the_appendix_case_insensitively() {
    for name in [
        "appendOnly",
        "invariants",
        "checkConstraints",
        "generatedColumns",
        "allowColumnDefaults",
        "changeDataFeed",
        "columnMapping",
        "identityColumns",
        "deletionVectors",
        "rowTracking",
        "timestampNtz",
        "domainMetadata",
        "v2Checkpoint",
        "catalogManaged",
        "icebergCompatV1",
        "icebergCompatV2",
        "clustering",
        "vacuumProtocolCheck",
        "inCommitTimestamp",
    ] {
        assert_eq!(find_feature(name).unwrap().name, name);
        assert_eq!(find_feature(&name.to_uppercase()).unwrap().name, name);
    }
}

#[test]
fn features_are_consistent() {
    let names: HashSet<_> = TABLE_FEATURES
        .iter()
        .map(|feature| feature.name.to_lowercase())
        .collect();
    assert_eq!(names.len(), TABLE_FEATURES.len());
    for feature in TABLE_FEATURES {
        assert_eq!(
            feature.binds_readers(),
            feature.min_reader_version > 1,
            "{}",
            feature.name
        );
        assert_eq!(
            feature.binds_readers(),
            feature.read_support != ReadSupport::NotRequired,
            "{}",
            feature.name
        );
        for required in feature.requires {
            let required = find_feature(required).unwrap();
            assert!(required.min_writer_version <= feature.min_writer_version);
        }
    }
}
