use super::*;
use crate::error::ErrorKind;

fn with_versions(reader: i32, writer: i32) -> Protocol {
    Protocol {
        min_reader_version: reader,
        min_writer_version: writer,
        ..Protocol::default()
    }
}

fn names(list: &[&str]) -> Option<Vec<String>> {
    Some(list.iter().map(|name| (*name).to_owned()).collect())
}

fn with_features(reader: &[&str], writer: &[&str]) -> Protocol {
    Protocol {
        reader_features: names(reader),
        writer_features: names(writer),
        ..with_versions(3, 7)
    }
}

/// The demo of the Spark `Protocol` document: append-only alone gives (1, 2).
#[test]
fn version_two_implies_append_only_and_invariants() {
    let protocol = with_versions(1, 2);
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
        let protocol = with_versions(reader, writer);
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
        ..with_versions(1, 7)
    };
    assert!(protocol.is_supported("changeDataFeed"));
    assert!(protocol.is_supported("CHANGEDATAFEED"));
    assert!(!protocol.is_supported("appendOnly"));
    let mapped = Protocol {
        writer_features: names(&["columnMapping"]),
        ..with_versions(2, 7)
    };
    assert!(mapped.is_supported("columnMapping"));
    assert!(mapped.check_readable().is_ok());
    let unmapped = Protocol {
        writer_features: names(&["appendOnly"]),
        ..with_versions(2, 7)
    };
    assert!(!unmapped.is_supported("columnMapping"));
}

#[test]
fn reads_supported_reader_features_and_any_writer_features() {
    let writer_only = Protocol {
        writer_features: names(&[
            "icebergCompatV2",
            "columnMapping",
            "liquid",
            "rowTracking",
            "domainMetadata",
        ]),
        ..with_versions(2, 7)
    };
    writer_only.check_readable().unwrap();
    // a writer feature in readerFeatures requires nothing of readers either
    with_features(
        &["rowTracking", "deletionVectors"],
        &["rowTracking", "deletionVectors"],
    )
    .check_readable()
    .unwrap();
    with_features(
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
    let protocol = with_features(&names, &names);
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
fn unknown_reader_versions_are_unsupported_not_corrupt() {
    // the protocols of the golden tables simple_table_features and deltalog-invalid-protocol-version
    let version_5 = Protocol {
        min_reader_version: 5,
        ..with_features(&["columnMapping", "blahabl"], &["columnMapping"])
    };
    let error = version_5.check_readable().unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Unsupported, "protocol.reader_version")
    );
    assert!(error.to_string().contains("blahabl"), "{error}");
    let version_99 = Protocol {
        min_reader_version: 99,
        ..with_features(&[], &[])
    };
    assert_eq!(
        version_99.check_readable().unwrap_err().code(),
        "protocol.reader_version"
    );
}

#[test]
fn unknown_writer_versions_are_readable_but_not_writable() {
    assert!(with_versions(1, 8).check_readable().is_ok());
    assert!(
        with_versions(1, 8)
            .why_not_writable()
            .iter()
            .any(|obstacle| obstacle.feature == "minWriterVersion=8")
    );
}

#[test]
fn consistent_protocols_are_well_formed() {
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
        with_versions(reader, writer).check_well_formed().unwrap();
    }
    for reader in [1, 2] {
        Protocol {
            writer_features: names(&[]),
            ..with_versions(reader, 7)
        }
        .check_well_formed()
        .unwrap();
    }
    with_features(&[], &["appendOnly", "invariants"])
        .check_well_formed()
        .unwrap();
}

/// As delta-spark 3.1 wrote `iceberg_compat_v1` of the Delta acceptance tests.
#[test]
fn legacy_features_may_be_listed_for_writers_only() {
    let protocol = with_features(&[], &["columnMapping", "icebergCompatV1"]);
    protocol.check_readable().unwrap();
    assert!(protocol.is_supported("columnMapping"));
}

#[test]
fn contradictory_protocols_are_corrupt() {
    let cases = [
        with_versions(0, 2),
        with_versions(1, 0),
        with_versions(1, 7),
        with_versions(3, 7),
        Protocol {
            reader_features: names(&[]),
            ..with_versions(3, 6)
        },
        Protocol {
            writer_features: names(&["appendOnly"]),
            ..with_versions(1, 6)
        },
        Protocol {
            reader_features: names(&["columnMapping"]),
            ..with_versions(2, 5)
        },
        with_features(&["deletionVectors"], &[]),
        with_features(&["unknown"], &[]),
        with_features(&[], &["deletionVectors"]),
        Protocol {
            writer_features: names(&["deletionVectors"]),
            ..with_versions(1, 7)
        },
        Protocol {
            writer_features: names(&["columnMapping"]),
            ..with_versions(1, 7)
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
fn empty_lists_are_redundant_below_the_versions_with_lists() {
    for (protocol, expected) in [
        (
            Protocol {
                reader_features: names(&[]),
                writer_features: names(&[]),
                ..with_versions(1, 2)
            },
            with_versions(1, 2),
        ),
        (
            Protocol {
                reader_features: names(&[]),
                writer_features: names(&["appendOnly"]),
                ..with_versions(2, 7)
            },
            Protocol {
                writer_features: names(&["appendOnly"]),
                ..with_versions(2, 7)
            },
        ),
    ] {
        protocol.check_writable().unwrap();
        assert!(protocol.has_redundant_lists() && !expected.has_redundant_lists());
        assert!(protocol.is_equivalent(&expected));
        assert_eq!(protocol.without_redundant_lists(), expected);
    }
    let with_lists = with_features(&[], &[]);
    assert!(!with_lists.has_redundant_lists());
    assert_eq!(with_lists.clone().without_redundant_lists(), with_lists);
}

#[test]
fn obstacles_to_writing_name_each_feature_once() {
    let protocol = with_features(
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
        with_versions(1, 1),
        with_versions(1, 2),
        with_versions(2, 6),
        with_features(&["deletionVectors"], &["rowTracking", "deletionVectors"]),
    ] {
        assert_eq!(writable.why_not_writable(), []);
        writable.check_writable().unwrap();
    }
    assert_eq!(
        with_features(&[], &["liquid"])
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
fn obstacles_to_writing_name_the_duty_of_writers() {
    for (feature, duty) in [
        (
            "icebergCompatV2",
            "write files that Iceberg can read (V2 rules)",
        ),
        ("timestampNanos", "understand it"),
    ] {
        let protocol = Protocol {
            writer_features: names(&[feature]),
            ..with_versions(1, 7)
        };
        let expected = format!("write with a client that can {duty}, or drop the feature");
        assert_eq!(protocol.why_not_writable()[0].remedy, expected);
    }
}

#[test]
fn equivalent_protocols_have_equal_versions_and_features() {
    let first = with_features(&["a", "b"], &["a", "b"]);
    assert!(first.is_equivalent(&with_features(&["b", "a"], &["a", "b", "a"])));
    assert!(!first.is_equivalent(&with_features(&["a"], &["a", "b"])));
    assert!(!with_versions(1, 7).is_equivalent(&Protocol {
        writer_features: names(&[]),
        ..with_versions(1, 7)
    }));
    assert!(!with_versions(1, 2).is_equivalent(&with_versions(1, 3)));
}

/// Quadratic work on these lists would take minutes.
#[test]
fn checks_long_lists_in_linear_time() {
    let many: Vec<_> = (0..50_000)
        .map(|number| format!("feature{number}"))
        .collect();
    let protocol = Protocol {
        reader_features: Some(many.clone()),
        writer_features: Some(many),
        ..with_versions(3, 7)
    };
    let start = std::time::Instant::now();
    assert_eq!(
        protocol.check_readable().unwrap_err().code(),
        "protocol.reader_features"
    );
    assert_eq!(protocol.why_not_writable().len(), 50_000);
    assert!(start.elapsed().as_secs() < 10);
}
