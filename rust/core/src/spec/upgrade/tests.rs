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

fn old(reader: i32, writer: i32) -> Protocol {
    Protocol {
        min_reader_version: reader,
        min_writer_version: writer,
        ..Protocol::default()
    }
}

/// The demo of the Spark `Protocol` document.
#[test]
fn an_append_only_table_is_reader_one_writer_two() {
    let result = Protocol::for_new_table(&metadata(&[("delta.appendOnly", "true")])).unwrap();
    assert_eq!(result, old(1, 2));
}

/// The steps of "Required Minimum Protocol" as the Spark `Protocol` document prints them.
#[test]
fn the_ordered_rules() {
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
            (old(versions.0, versions.1), used)
        );
    }
    let refused = Protocol::required_minimum(&field("delta.identity.start")).unwrap_err();
    assert_eq!(refused.code(), "protocol.identity");
    assert!(
        refused
            .message()
            .starts_with("IDENTITY column is not supported")
    );
}

#[test]
fn what_cannot_be() {
    let new = |pairs: &[(&str, &str)]| Protocol::for_new_table(&metadata(pairs)).unwrap_err();
    assert_eq!(
        new(&[("delta.minReaderVersion", "9")]).code(),
        "protocol.version"
    );
    assert_eq!(
        new(&[("delta.feature.x", "supported")]).code(),
        "protocol.unknown_feature"
    );
    let versions = metadata(&[("delta.minWriterVersion", "4")]);
    assert_eq!(
        old(1, 2).upgrade_for(&versions).unwrap_err().code(),
        "protocol.version_property"
    );
    let ntz = Metadata {
        schema_string: r#"{"type":"struct","fields":[{"name":"c","type":"timestamp_ntz"}]}"#.into(),
        ..Metadata::default()
    };
    assert_eq!(
        old(1, 2).upgrade_for(&ntz).unwrap_err().code(),
        "protocol.manual_enablement"
    );
    let ntz = Metadata {
        configuration: metadata(&[("delta.feature.timestampNtz", "supported")]).configuration,
        ..ntz
    };
    assert!(
        old(1, 2)
            .upgrade_for(&ntz)
            .unwrap()
            .is_supported("timestampNtz")
    );
    let tracked = old(1, 2).with_feature("ROWTRACKING").unwrap();
    for (name, code) in [
        ("nothing", "protocol.unknown_feature"),
        ("appendOnly", "protocol.not_removable"),
        ("deletionVectors", "protocol.feature_absent"),
        ("domainMetadata", "protocol.feature_required"),
    ] {
        assert_eq!(tracked.without_feature(name).unwrap_err().code(), code);
    }
}

#[test]
fn unknown_features_are_kept_on_their_side() {
    let strange = Protocol {
        reader_features: Some(vec!["both".into()]),
        writer_features: Some(vec!["both".into(), "one".into()]),
        ..old(3, 7)
    };
    let merged = strange.merge(&old(1, 2));
    assert_eq!(
        merged.reader_features.as_deref(),
        Some(&["both".to_owned()][..])
    );
    assert_eq!(
        merged.writer_features.unwrap(),
        ["appendOnly", "both", "invariants", "one"]
    );
    assert!(old(1, 2).can_upgrade_to(&strange.merge(&old(1, 2))));
    assert!(!strange.can_upgrade_to(&old(2, 6)));
}

/// Every set of known features becomes a well-formed protocol with exactly those features.
#[test]
fn protocols_have_the_features_that_they_are_made_of() {
    for (first, left) in TABLE_FEATURES.iter().enumerate() {
        for other in TABLE_FEATURES.iter().skip(first) {
            let mut set = FeatureSet::default();
            set.add(left);
            set.add(other);
            let protocol = set.protocol();
            protocol.check_well_formed().unwrap();
            assert_eq!(
                FeatureSet::of(&protocol),
                set,
                "{} {}",
                left.name,
                other.name
            );
        }
    }
}
