use super::*;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// The worked example of the "Deep Dive: Delta Log" document: `format` without options.
#[test]
fn metadata_of_the_deep_dive() {
    let metadata = metadata_from_json(
        r#"{
           "configuration":{
              "delta.autoOptimize.autoCompact":"true",
              "delta.autoOptimize.optimizeWrite":"true"
           },
           "createdTime":1662199084374,
           "format":{"provider":"parquet"},
           "id":"6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b",
           "partitionColumns":[

           ],
           "schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"
        }"#,
    )
    .unwrap();
    let expected = Metadata {
        id: "6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b".to_owned(),
        schema_string:
            r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}"#
                .to_owned(),
        created_time: Some(1_662_199_084_374),
        configuration: map(&[
            ("delta.autoOptimize.autoCompact", "true"),
            ("delta.autoOptimize.optimizeWrite", "true"),
        ]),
        ..Metadata::default()
    };
    assert_eq!(metadata, expected);
}

#[test]
fn nulls_and_unknown_keys_are_ignored() {
    let metadata = metadata_from_json(
        r#"{"id":"t","name":null,"description":"d","format":{"provider":"parquet","options":null,"x":[1]},
           "schemaString":null,"partitionColumns":null,"configuration":null,"createdTime":null,"later":{"a":[{}]}}"#,
    )
    .unwrap();
    let expected = Metadata {
        id: "t".to_owned(),
        description: Some("d".to_owned()),
        ..Metadata::default()
    };
    assert_eq!(metadata, expected);
}

#[test]
fn unquoted_map_values_are_read_as_text() {
    let metadata = metadata_from_json(
        r#"{"id":"t","configuration":{"a":10,"b":true,"c":null,"d":"x","e":-1,"f":1.0}}"#,
    )
    .unwrap();
    assert_eq!(
        metadata.configuration,
        map(&[
            ("a", "10"),
            ("b", "true"),
            ("d", "x"),
            ("e", "-1"),
            ("f", "1.0")
        ])
    );
}

#[test]
fn protocols_with_and_without_feature_lists() {
    // the protocol of the "Deep Dive: Delta Log" document
    let old = protocol_from_json(r#"{"minReaderVersion":1,"minWriterVersion":2}"#).unwrap();
    assert_eq!(
        old,
        Protocol {
            min_reader_version: 1,
            min_writer_version: 2,
            reader_features: None,
            writer_features: None
        }
    );
    let new = protocol_from_json(
        r#"{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],
            "writerFeatures":["deletionVectors","changeDataFeed"]}"#,
    )
    .unwrap();
    assert_eq!(new.reader_features.unwrap(), ["deletionVectors"]);
    assert_eq!(
        new.writer_features.unwrap(),
        ["deletionVectors", "changeDataFeed"]
    );
    let nulls = r#"{"minReaderVersion":1,"minWriterVersion":2,"readerFeatures":null,"writerFeatures":null}"#;
    assert_eq!(protocol_from_json(nulls).unwrap(), old);
}

#[test]
fn transactions_and_domains() {
    // the transaction of the "Deep Dive: Delta Log" document
    let txn = transaction_from_json(
        r#"{"appId":"3ba13872-2d47-4e17-86a0-21afd2a22395","version":364475}"#,
    )
    .unwrap();
    let expected = SetTransaction {
        app_id: "3ba13872-2d47-4e17-86a0-21afd2a22395".to_owned(),
        version: 364_475,
        last_updated: None,
    };
    assert_eq!(txn, expected);
    let domain = domain_metadata_from_json(
        r#"{"domain":"delta.rowTracking","configuration":"{\"rowIdHighWaterMark\":9007199254740993}","removed":false}"#,
    )
    .unwrap();
    assert_eq!(
        domain.configuration,
        r#"{"rowIdHighWaterMark":9007199254740993}"#
    );
    assert!(!domain.removed);
    let tombstone = domain_metadata_from_json(r#"{"domain":"d","removed":true}"#).unwrap();
    assert_eq!(
        (tombstone.removed, tombstone.configuration.as_str()),
        (true, "")
    );
}

#[test]
fn errors_name_the_field() {
    let cases = [
        (
            metadata_from_json(r#"{"name":"n"}"#).map(drop),
            "metaData.id",
        ),
        (metadata_from_json(r#"{"id":1}"#).map(drop), "metaData.id"),
        (
            metadata_from_json(r#"{"id":"t","partitionColumns":[1]}"#).map(drop),
            "metaData.partitionColumns",
        ),
        (
            metadata_from_json(r#"{"id":"t","configuration":{"a":{}}}"#).map(drop),
            "metaData.configuration",
        ),
        (
            metadata_from_json(r#"{"id":"t","format":"parquet"}"#).map(drop),
            "metaData.format",
        ),
        (metadata_from_json(r#"{"id":"t""#).map(drop), "metaData"),
        (
            protocol_from_json(r#"{"minReaderVersion":1}"#).map(drop),
            "protocol.minWriterVersion",
        ),
        (
            protocol_from_json(r#"{"minReaderVersion":3000000000,"minWriterVersion":2}"#).map(drop),
            "protocol.minReaderVersion",
        ),
        (
            transaction_from_json(r#"{"appId":"a","version":"1"}"#).map(drop),
            "txn.version",
        ),
        (
            domain_metadata_from_json(r#"{"domain":"d","configuration":""}"#).map(drop),
            "domainMetadata.removed",
        ),
    ];
    for (outcome, field) in cases {
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), "commit.action");
        assert!(error.to_string().contains(field), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused_without_recursion() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    for body in [
        format!(r#"{{"id":"t","later":{deep}}}"#),
        format!(r#"{{"id":"t","configuration":{deep}}}"#),
        format!(r#"{{"id":"t","partitionColumns":{deep}}}"#),
    ] {
        assert_eq!(
            metadata_from_json(&body).unwrap_err().code(),
            "commit.action"
        );
    }
}
