use super::*;

fn parse(
    reader: i32,
    writer: i32,
    features: &[&str],
    pairs: &[(&str, &str)],
) -> Result<(TableProperties, Vec<PropertyProblem>)> {
    let names = || features.iter().map(|name| (*name).to_owned()).collect();
    let protocol = Protocol {
        min_reader_version: reader,
        min_writer_version: writer,
        reader_features: (reader == 3).then(names),
        writer_features: (writer == 7).then(names),
    };
    let configuration = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    TableProperties::new(
        &Metadata {
            configuration,
            ..Metadata::default()
        },
        &protocol,
    )
}

/// The defaults are those of the protocol and of delta-spark.
#[test]
fn absent_properties_have_defaults() {
    let (properties, problems) = parse(1, 2, &[], &[]).unwrap();
    let expected = TableProperties {
        deleted_file_retention: 604_800_000,
        log_retention: 2_592_000_000,
        expired_log_cleanup: true,
        truncated_history_retention: 86_400_000,
        set_transaction_retention: None,
        checkpoint_interval: 10,
        in_commit_timestamps: false,
        in_commit_timestamp_enablement: None,
        column_mapping_mode: ColumnMappingMode::None,
        append_only: false,
        change_data_feed: false,
        deletion_vectors: false,
        row_tracking: false,
        row_tracking_suspended: false,
        materialized_row_id_column: None,
        materialized_row_commit_version_column: None,
    };
    assert_eq!((properties, problems), (expected, Vec::new()));
}

#[test]
fn keys_are_case_insensitive_and_the_canonical_one_wins() {
    let pairs = [
        ("DELTA.LOGRETENTIONDURATION", "interval 1 day"),
        ("delta.deletedFileRetentionDuration", "interval 2 days"),
        ("DELTA.deletedFileRetentionDuration", "interval 3 days"),
        ("delta.setTransactionRetentionDuration", "36 hours"),
        ("delta.checkpointinterval", "3"),
    ];
    let (properties, problems) = parse(1, 2, &[], &pairs).unwrap();
    assert_eq!(properties.log_retention, 86_400_000);
    assert_eq!(properties.deleted_file_retention, 2 * 86_400_000);
    assert_eq!(properties.set_transaction_retention, Some(129_600_000));
    assert_eq!(properties.checkpoint_interval, 3);
    assert!(problems.is_empty());
}

#[test]
fn invalid_values_count_as_defaults_and_are_reported() {
    let pairs = [
        ("delta.deletedFileRetentionDuration", "interval 1 month"),
        ("delta.logRetentionDuration", "soon"),
        ("delta.setTransactionRetentionDuration", ""),
        ("delta.checkpointInterval", "0"),
        ("delta.appendOnly", "yes"),
    ];
    let (properties, problems) = parse(1, 2, &[], &pairs).unwrap();
    assert_eq!(properties, parse(1, 2, &[], &[]).unwrap().0);
    let reported: Vec<_> = problems.iter().map(|problem| problem.key).collect();
    assert_eq!(reported, pairs.map(|(key, _)| key));
    assert!(problems[0].to_string().contains("interval 1 month"));
}

#[test]
fn switches_count_if_the_protocol_supports_their_feature() {
    let pairs = [
        ("delta.appendOnly", "TRUE"),
        ("delta.enableChangeDataCapture", "true"),
        ("delta.enableDeletionVectors", "true"),
        ("delta.enableInCommitTimestamps", "true"),
        ("delta.enableRowTracking", "true"),
        (
            "delta.rowTracking.materializedRowIdColumnName",
            "_row-id-col-x",
        ),
    ];
    let on = |properties: &TableProperties| {
        [
            properties.append_only,
            properties.change_data_feed,
            properties.deletion_vectors,
            properties.in_commit_timestamps,
            properties.row_tracking,
        ]
    };
    let (old, problems) = parse(1, 2, &[], &pairs).unwrap();
    assert_eq!(on(&old), [true, false, false, false, false]);
    assert!(problems.is_empty());
    assert_eq!(
        on(&parse(1, 4, &[], &pairs).unwrap().0),
        [true, true, false, false, false]
    );
    let features = [
        "deletionVectors",
        "inCommitTimestamp",
        "rowTracking",
        "domainMetadata",
    ];
    let (new, _) = parse(3, 7, &features, &pairs).unwrap();
    assert_eq!(on(&new), [false, false, true, true, true]);
    assert_eq!(
        new.materialized_row_id_column.as_deref(),
        Some("_row-id-col-x")
    );
    assert_eq!(new.materialized_row_commit_version_column, None);
}

#[test]
fn the_new_name_of_the_change_data_feed_wins() {
    let pairs = [
        ("delta.enableChangeDataFeed", "false"),
        ("delta.enableChangeDataCapture", "true"),
    ];
    assert!(!parse(1, 4, &[], &pairs).unwrap().0.change_data_feed);
}

#[test]
fn in_commit_timestamp_enablement_needs_both_properties() {
    let (version, timestamp) = (
        ("delta.inCommitTimestampEnablementVersion", "4"),
        (
            "delta.inCommitTimestampEnablementTimestamp",
            "1718000003000",
        ),
    );
    let (both, problems) = parse(1, 2, &[], &[version, timestamp]).unwrap();
    let expected = InCommitTimestampEnablement {
        version: 4,
        timestamp: 1_718_000_003_000,
    };
    assert_eq!(both.in_commit_timestamp_enablement, Some(expected));
    assert!(problems.is_empty());
    for alone in [version, timestamp] {
        let (properties, problems) = parse(1, 2, &[], &[alone]).unwrap();
        assert_eq!(properties.in_commit_timestamp_enablement, None);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].key, alone.0);
    }
    let negative = [
        ("delta.inCommitTimestampEnablementVersion", "-1"),
        timestamp,
    ];
    let problems = parse(1, 2, &[], &negative).unwrap().1;
    let invalid = "delta.inCommitTimestampEnablementVersion";
    assert_eq!(problems[0].key, invalid);
    let without = format!("it is ignored without a valid {invalid}");
    assert_eq!(
        (problems.len(), &problems[1].message),
        (2, &without),
        "the version is there, but invalid"
    );
}

/// Returns the effective mode and the number of problems.
fn column_mapping_mode(
    reader: i32,
    writer: i32,
    features: &[&str],
    mode: &str,
) -> Result<(ColumnMappingMode, usize)> {
    let pairs = [("delta.columnMapping.mode", mode)];
    let (properties, problems) = parse(reader, writer, features, &pairs)?;
    Ok((properties.column_mapping_mode, problems.len()))
}

#[test]
fn column_mapping_modes_count_if_supported() {
    let mode = |reader, writer, features: &[&str], mode| {
        column_mapping_mode(reader, writer, features, mode).unwrap()
    };
    assert_eq!(mode(2, 5, &[], "name"), (ColumnMappingMode::Name, 0));
    assert_eq!(mode(2, 5, &[], "ID"), (ColumnMappingMode::Id, 0));
    assert_eq!(mode(2, 5, &[], "none"), (ColumnMappingMode::None, 0));
    assert_eq!(
        mode(3, 7, &["columnMapping"], "id"),
        (ColumnMappingMode::Id, 0)
    );
    assert_eq!(mode(1, 2, &[], "name"), (ColumnMappingMode::None, 0));
    assert_eq!(mode(1, 2, &[], "sideways"), (ColumnMappingMode::None, 1));
}

#[test]
fn rejects_unknown_column_mapping_modes_if_supported() {
    // the protocol and the mode of the conformance case made-error-column-mapping-mode-unknown
    let features = ["columnMapping", "invariants", "appendOnly"];
    let error = column_mapping_mode(2, 7, &features, "sideways").unwrap_err();
    assert_eq!(error.code(), "properties.column_mapping_mode");
    assert!(error.to_string().contains("sideways"));
}

#[test]
fn mapped_columns_need_a_physical_name() {
    let schema = crate::spec::schema::StructType::parse(
        r#"{"type":"struct","fields":[{"name":"a","type":"long","metadata":{"delta.columnMapping.physicalName":"col-1"}},
           {"name":"b","type":"long"}]}"#,
    )
    .unwrap();
    let (a, b) = (&schema.fields()[0], &schema.fields()[1]);
    assert_eq!(a.name_in_files(ColumnMappingMode::None).unwrap(), "a");
    assert_eq!(a.name_in_files(ColumnMappingMode::Id).unwrap(), "col-1");
    assert_eq!(b.name_in_files(ColumnMappingMode::None).unwrap(), "b");
    assert_eq!(
        b.name_in_files(ColumnMappingMode::Name).unwrap_err().code(),
        "schema.physical_name"
    );
}
