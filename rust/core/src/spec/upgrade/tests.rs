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

/// As in delta-spark: older clients may know only that name.
#[test]
fn a_table_that_has_a_feature_under_its_other_name_is_not_upgraded() {
    let column = |data_type: &str| {
        format!(
            r#"{{"type":"struct","fields":[{{"name":"c","type":"{data_type}","nullable":true,"metadata":{{}}}}]}}"#
        )
    };
    for (property, data_type, name, other) in [
        (
            "delta.enableTypeWidening",
            "long",
            "typeWidening",
            "typeWidening-preview",
        ),
        ("x", "variant", "variantType", "variantType-preview"),
        ("x", "geometry(OGC:CRS84)", "geospatial", "geospatial-dev"),
        (
            "delta.enableVariantShredding",
            "long",
            "variantShredding-preview",
            "variantShredding",
        ),
    ] {
        let metadata = Metadata {
            schema_string: column(data_type),
            ..metadata(&[(property, "true")])
        };
        let without = with_versions(1, 2);
        assert_eq!(without.missing_features(&metadata).unwrap(), [name]);
        let upgraded = without.upgrade_for(&metadata).unwrap();
        assert!(upgraded.is_supported(name) && !upgraded.is_supported(other));

        let old = without.with_feature(other).unwrap();
        assert!(old.missing_features(&metadata).unwrap().is_empty());
        assert_eq!(old.upgrade_for(&metadata).unwrap(), old);

        let mut named = metadata;
        let key = format!("delta.feature.{other}");
        named.configuration.insert(key, "supported".into());
        for new in [
            Protocol::for_new_table(&named).unwrap(),
            without.upgrade_for(&named).unwrap(),
        ] {
            assert!(
                new.is_supported(other) && !new.is_supported(name),
                "{new:?}"
            );
        }
    }
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
fn a_feature_is_dropped_under_either_name() {
    for name in [
        "typeWidening",
        "typeWidening-preview",
        "geospatial",
        "geospatial-dev",
    ] {
        let protocol = with_versions(1, 2).with_feature(name).unwrap();
        assert_eq!(protocol.without_feature(name).unwrap(), with_versions(1, 2));
    }
}

/// As in delta-spark's tests of SET TBLPROPERTIES, which sets the versions after the first.
#[test]
fn merge_adds_the_features_of_the_greater_versions() {
    for (old, set, merged) in [
        ((2, 2), (1, 5), (2, 5)),
        ((2, 2), (1, 7), (1, 2)),
        ((1, 2), (1, 3), (1, 3)),
        ((1, 2), (3, 7), (1, 2)),
        ((2, 5), (1, 1), (2, 5)),
    ] {
        let (old, set) = (with_versions(old.0, old.1), with_versions(set.0, set.1));
        assert_eq!(old.merge(&set), with_versions(merged.0, merged.1));
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
