use super::*;

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    Metadata {
        configuration: pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..Metadata::default()
    }
}

fn with_versions(reader: i32, writer: i32) -> Protocol {
    Protocol {
        min_reader_version: reader,
        min_writer_version: writer,
        ..Protocol::default()
    }
}

/// The demo of the Spark `Protocol` document.
#[test]
fn append_only_tables_have_versions_1_and_2() {
    let result = Protocol::for_new_table(&metadata(&[("delta.appendOnly", "true")])).unwrap();
    assert_eq!(result, with_versions(1, 2));
}

/// The steps of "Required Minimum Protocol" as the Spark `Protocol` document prints them.
#[test]
fn required_minimum_applies_the_ordered_rules() {
    let field = |key: &str| Metadata {
        schema_string: format!(
            r#"{{"type":"struct","fields":[{{"name":"c","type":"long","metadata":{{"{key}":"x"}}}}]}}"#
        ),
        ..Metadata::default()
    };
    for (metadata, versions, used) in [
        (metadata(&[]), (0, 0), &[][..]),
        (field("delta.invariants"), (0, 2), &["invariants"]),
        (
            metadata(&[("delta.appendOnly", "true")]),
            (0, 3),
            &["appendOnly"],
        ),
        (
            metadata(&[("delta.constraints.c", "a > 0")]),
            (0, 3),
            &["checkConstraints"],
        ),
        (
            field("delta.generationExpression"),
            (0, 4),
            &["generatedColumns"],
        ),
        (
            metadata(&[("delta.enableChangeDataFeed", "true")]),
            (0, 4),
            &["changeDataFeed"],
        ),
        (
            metadata(&[("delta.columnMapping.mode", "id")]),
            (2, 5),
            &["columnMapping"],
        ),
        (
            metadata(&[
                ("delta.columnMapping.mode", "name"),
                ("delta.appendOnly", "TRUE"),
            ]),
            (2, 5),
            &["appendOnly", "columnMapping"],
        ),
    ] {
        let (protocol, features) = Protocol::required_minimum(&metadata).unwrap();
        assert_eq!(
            (protocol, features.as_slice()),
            (with_versions(versions.0, versions.1), used)
        );
    }
    let error = Protocol::required_minimum(&field("delta.identity.start")).unwrap_err();
    assert_eq!(error.code(), "protocol.identity");
    let expected = "IDENTITY column is not supported";
    assert!(error.message().starts_with(expected), "{error}");
}

#[test]
fn new_tables_cannot_have_unknown_versions_or_features() {
    for (key, value, code) in [
        ("delta.minReaderVersion", "9", "protocol.version"),
        ("delta.feature.x", "supported", "protocol.unknown_feature"),
    ] {
        let error = Protocol::for_new_table(&metadata(&[(key, value)])).unwrap_err();
        assert_eq!(error.code(), code, "{key}");
    }
}

#[test]
fn upgrade_for_rejects_versions_and_manual_features() {
    let versions = metadata(&[("delta.minWriterVersion", "4")]);
    assert_eq!(
        with_versions(1, 2)
            .upgrade_for(&versions)
            .unwrap_err()
            .code(),
        "protocol.version_property"
    );
    let ntz = Metadata {
        schema_string: r#"{"type":"struct","fields":[{"name":"c","type":"timestamp_ntz"}]}"#.into(),
        ..Metadata::default()
    };
    assert_eq!(
        with_versions(1, 2).upgrade_for(&ntz).unwrap_err().code(),
        "protocol.manual_enablement"
    );
    let ntz = Metadata {
        configuration: metadata(&[("delta.feature.timestampNtz", "supported")]).configuration,
        ..ntz
    };
    assert!(
        with_versions(1, 2)
            .upgrade_for(&ntz)
            .unwrap()
            .is_supported("timestampNtz")
    );
}

#[test]
fn without_feature_rejects_features_that_cannot_be_dropped() {
    let protocol = with_versions(1, 2).with_feature("ROWTRACKING").unwrap();
    for (name, code) in [
        ("nothing", "protocol.unknown_feature"),
        ("appendOnly", "protocol.not_removable"),
        ("deletionVectors", "protocol.feature_absent"),
        ("domainMetadata", "protocol.feature_required"),
    ] {
        assert_eq!(protocol.without_feature(name).unwrap_err().code(), code);
    }
}

#[test]
fn merge_keeps_unknown_features_in_their_lists() {
    let unknown = Protocol {
        reader_features: Some(vec!["both".into()]),
        writer_features: Some(vec!["both".into(), "one".into()]),
        ..with_versions(3, 7)
    };
    let merged = unknown.merge(&with_versions(1, 2));
    assert_eq!(
        merged.reader_features.as_deref(),
        Some(&["both".to_owned()][..])
    );
    assert_eq!(
        merged.writer_features.unwrap(),
        ["appendOnly", "both", "invariants", "one"]
    );
    assert!(with_versions(1, 2).can_upgrade_to(&unknown.merge(&with_versions(1, 2))));
    assert!(!unknown.can_upgrade_to(&with_versions(2, 6)));
}

/// Each pair of known features, with what they require, becomes a well-formed protocol with exactly these
/// features.
#[test]
fn protocols_support_exactly_their_features() {
    for (index, feature) in TABLE_FEATURES.iter().enumerate() {
        for other in TABLE_FEATURES.iter().skip(index) {
            let mut set = FeatureSet::default();
            set.add(feature);
            set.add(other);
            let protocol = set.protocol();
            protocol.check_well_formed().unwrap();
            let names = [feature.name, other.name];
            assert_eq!(FeatureSet::of(&protocol), set, "{names:?}");
        }
    }
}
