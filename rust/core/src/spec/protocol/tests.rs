use super::*;
use crate::error::ErrorKind;

fn old(reader: i32, writer: i32) -> Protocol {
    Protocol {
        min_reader_version: reader,
        min_writer_version: writer,
        ..Protocol::default()
    }
}

fn names(list: &[&str]) -> Option<Vec<String>> {
    Some(list.iter().map(|name| (*name).to_owned()).collect())
}

fn listed(reader: &[&str], writer: &[&str]) -> Protocol {
    Protocol {
        reader_features: names(reader),
        writer_features: names(writer),
        ..old(3, 7)
    }
}

/// The demo of the Spark `Protocol` document: append-only alone gives (1, 2).
#[test]
fn version_two_implies_append_only_and_invariants() {
    let protocol = old(1, 2);
    for (feature, supported) in [
        ("appendOnly", true),
        ("invariants", true),
        ("checkConstraints", false),
        ("columnMapping", false),
    ] {
        assert_eq!(protocol.is_supported(feature), supported, "{feature}");
    }
    assert!(protocol.check_readable().is_ok());
}

/// The cumulative table of writer versions and the features that they imply.
#[test]
fn legacy_versions_imply_features_cumulatively() {
    let implied = |reader, writer| {
        let protocol = old(reader, writer);
        let all = TABLE_FEATURES
            .iter()
            .filter(|feature| protocol.is_supported(feature.name));
        let mut names: Vec<_> = all.map(|feature| feature.name).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(implied(1, 1), [""; 0]);
    assert_eq!(implied(1, 2), ["appendOnly", "invariants"]);
    assert_eq!(
        implied(1, 3),
        ["appendOnly", "checkConstraints", "invariants"]
    );
    let four = [
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "generatedColumns",
        "invariants",
    ];
    assert_eq!(implied(1, 4), four);
    // column mapping also needs reader version 2
    assert_eq!(implied(1, 5), four);
    assert_eq!(implied(2, 4), four);
    let with_mapping = |names: &[&'static str]| {
        let mut names = names.to_vec();
        names.push("columnMapping");
        names.sort_unstable();
        names
    };
    assert_eq!(implied(2, 5), with_mapping(&four));
    let six = [&four[..], &["identityColumns"]].concat();
    assert_eq!(implied(2, 6), with_mapping(&six));
}

#[test]
fn writer_version_seven_implies_nothing() {
    let protocol = Protocol {
        writer_features: names(&["changeDataFeed"]),
        ..old(1, 7)
    };
    assert!(protocol.is_supported("changeDataFeed"));
    assert!(protocol.is_supported("CHANGEDATAFEED"));
    assert!(!protocol.is_supported("appendOnly"));
    let mapped = Protocol {
        writer_features: names(&["columnMapping"]),
        ..old(2, 7)
    };
    assert!(mapped.is_supported("columnMapping"));
    assert!(mapped.check_readable().is_ok());
    let unmapped = Protocol {
        writer_features: names(&["appendOnly"]),
        ..old(2, 7)
    };
    assert!(!unmapped.is_supported("columnMapping"));
}

#[test]
fn features_without_a_duty_for_readers_are_readable() {
    let writer_only = Protocol {
        writer_features: names(&[
            "icebergCompatV2",
            "columnMapping",
            "liquid",
            "rowTracking",
            "domainMetadata",
        ]),
        ..old(2, 7)
    };
    writer_only.check_readable().unwrap();
    // a writer feature in readerFeatures requires nothing of readers either
    listed(
        &["rowTracking", "deletionVectors"],
        &["rowTracking", "deletionVectors"],
    )
    .check_readable()
    .unwrap();
    listed(
        &[
            "deletionVectors",
            "v2Checkpoint",
            "columnMapping",
            "typeWidening-preview",
            "variantShredding-preview",
            "geospatial",
            "geospatial-dev",
        ],
        &[
            "deletionVectors",
            "v2Checkpoint",
            "columnMapping",
            "typeWidening-preview",
            "variantShredding-preview",
            "geospatial",
            "geospatial-dev",
            "inCommitTimestamp",
            "somethingNew",
        ],
    )
    .check_readable()
    .unwrap();
}

#[test]
fn one_error_names_every_missing_feature() {
    let names = [
        "deletionVectors",
        "timestampNanos",
        "featureFromTheFuture",
        "adaptiveMetadata",
    ];
    let protocol = listed(&names, &names);
    let error = protocol.check_readable().unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Unsupported, "protocol.reader_features")
    );
    let message = error.to_string();
    for name in [
        "timestampNanos",
        "featureFromTheFuture",
        "adaptiveMetadata",
        "nanosecond",
    ] {
        assert!(message.contains(name), "{message}");
    }
    assert!(!message.contains("deletionVectors"), "{message}");
    assert_eq!(protocol.why_not_readable().len(), 3);
}

#[test]
fn a_reader_version_from_the_future_is_unsupported_not_corrupt() {
    // the protocols of the golden tables simple_table_features and deltalog-invalid-protocol-version
    let five = Protocol {
        min_reader_version: 5,
        ..listed(&["columnMapping", "blahabl"], &["columnMapping"])
    };
    let error = five.check_readable().unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Unsupported, "protocol.reader_version")
    );
    assert!(error.to_string().contains("blahabl"), "{error}");
    let many = Protocol {
        min_reader_version: 99,
        ..listed(&[], &[])
    };
    assert_eq!(
        many.check_readable().unwrap_err().code(),
        "protocol.reader_version"
    );
}

#[test]
fn a_writer_version_from_the_future_is_readable() {
    assert!(old(1, 8).check_readable().is_ok());
    assert!(
        old(1, 8)
            .why_not_writable()
            .iter()
            .any(|obstacle| obstacle.feature == "minWriterVersion=8")
    );
}

#[test]
fn the_legal_shapes_are_well_formed() {
    for (reader, writer) in [
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (1, 5),
        (1, 6),
        (2, 2),
        (2, 5),
        (2, 6),
    ] {
        old(reader, writer).check_well_formed().unwrap();
    }
    for reader in [1, 2] {
        Protocol {
            writer_features: names(&[]),
            ..old(reader, 7)
        }
        .check_well_formed()
        .unwrap();
    }
    listed(&[], &["appendOnly", "invariants"])
        .check_well_formed()
        .unwrap();
}

/// As delta-spark 3.1 wrote `iceberg_compat_v1` of the Delta acceptance tests.
#[test]
fn a_legacy_feature_may_be_a_writer_feature_only() {
    let protocol = listed(&[], &["columnMapping", "icebergCompatV1"]);
    protocol.check_readable().unwrap();
    assert!(protocol.is_supported("columnMapping"));
}

#[test]
fn contradictions_are_corrupt() {
    let cases = [
        old(0, 2),
        old(1, 0),
        old(1, 7),
        old(3, 7),
        Protocol {
            reader_features: names(&[]),
            ..old(3, 6)
        },
        Protocol {
            writer_features: names(&["appendOnly"]),
            ..old(1, 6)
        },
        Protocol {
            reader_features: names(&["columnMapping"]),
            ..old(2, 5)
        },
        listed(&["deletionVectors"], &[]),
        listed(&["unknown"], &[]),
        listed(&[], &["deletionVectors"]),
        Protocol {
            writer_features: names(&["deletionVectors"]),
            ..old(1, 7)
        },
        Protocol {
            writer_features: names(&["columnMapping"]),
            ..old(1, 7)
        },
    ];
    for protocol in cases {
        let error = protocol.check_readable().unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Corrupt, "protocol.malformed"),
            "{protocol:?}"
        );
    }
}

/// Older releases of deltalake write such lists (delta-io/delta-rs issue 3354).
#[test]
fn empty_lists_beside_versions_without_lists_are_absent() {
    for (protocol, same) in [
        (
            Protocol {
                reader_features: names(&[]),
                writer_features: names(&[]),
                ..old(1, 2)
            },
            old(1, 2),
        ),
        (
            Protocol {
                reader_features: names(&[]),
                writer_features: names(&["appendOnly"]),
                ..old(2, 7)
            },
            Protocol {
                writer_features: names(&["appendOnly"]),
                ..old(2, 7)
            },
        ),
    ] {
        protocol.check_writable().unwrap();
        assert!(protocol.has_redundant_lists() && !same.has_redundant_lists());
        assert!(protocol.is_equivalent(&same));
        assert_eq!(protocol.without_redundant_lists(), same);
    }
    let whole = listed(&[], &[]);
    assert!(!whole.has_redundant_lists());
    assert_eq!(whole.clone().without_redundant_lists(), whole);
}

#[test]
fn obstacles_to_writing_name_each_feature_once() {
    let protocol = listed(
        &["deletionVectors", "geospatial"],
        &["deletionVectors", "geospatial", "liquid", "icebergCompatV2"],
    );
    let features: Vec<_> = protocol
        .why_not_writable()
        .into_iter()
        .map(|obstacle| obstacle.feature)
        .collect();
    assert_eq!(features, ["geospatial", "icebergCompatV2", "liquid"]);
    for writable in [
        old(1, 1),
        old(1, 2),
        old(2, 6),
        listed(&["deletionVectors"], &["rowTracking", "deletionVectors"]),
    ] {
        assert_eq!(writable.why_not_writable(), []);
        writable.check_writable().unwrap();
    }
    assert_eq!(
        listed(&[], &["liquid"])
            .check_writable()
            .unwrap_err()
            .code(),
        "protocol.writer_features"
    );
    for obstacle in protocol.why_not_writable() {
        assert!(!obstacle.reason.is_empty() && !obstacle.remedy.is_empty());
        assert!(obstacle.to_string().starts_with(&obstacle.feature));
    }
}

#[test]
fn the_order_of_features_does_not_matter() {
    let first = listed(&["a", "b"], &["a", "b"]);
    assert!(first.is_equivalent(&listed(&["b", "a"], &["a", "b", "a"])));
    assert!(!first.is_equivalent(&listed(&["a"], &["a", "b"])));
    assert!(!old(1, 7).is_equivalent(&Protocol {
        writer_features: names(&[]),
        ..old(1, 7)
    }));
    assert!(!old(1, 2).is_equivalent(&old(1, 3)));
}

/// Quadratic work on these lists would take minutes.
#[test]
fn long_lists_take_no_time() {
    let many: Vec<_> = (0..50_000)
        .map(|number| format!("feature{number}"))
        .collect();
    let protocol = Protocol {
        reader_features: Some(many.clone()),
        writer_features: Some(many),
        ..old(3, 7)
    };
    let start = std::time::Instant::now();
    assert_eq!(
        protocol.check_readable().unwrap_err().code(),
        "protocol.reader_features"
    );
    assert_eq!(protocol.why_not_writable().len(), 50_000);
    assert!(start.elapsed().as_secs() < 10);
}
