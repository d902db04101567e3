use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};
use parquet::file::statistics::Statistics as ColumnStatistics;

use super::*;

/// Returns the statistics of a file with the columns `n` (1 to 3) and `t` (`a`, `é`, `z`), after a change of those
/// in its footer.
fn statistics(change: impl Fn(&ColumnChunkMetaData) -> ColumnStatistics) -> String {
    let columns: [(&str, ArrayRef); 2] = [
        ("n", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("t", Arc::new(StringArray::from(vec!["a", "é", "z"]))),
    ];
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let footer = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::from(bytes))
        .unwrap();
    let changed = |column: &ColumnChunkMetaData| {
        let changed = column.clone().into_builder().set_statistics(change(column));
        changed.build().unwrap()
    };
    let groups = footer.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(changed).collect();
        let group = group.clone().into_builder().set_column_metadata(columns);
        group.build().unwrap()
    });
    let footer = ParquetMetaData::new(footer.file_metadata().clone(), groups.collect());
    let metadata = Metadata {
        schema_string: r#"{"type":"struct","fields":[{"name":"n","type":"long"},{"name":"t","type":"string"}]}"#
            .to_owned(),
        ..Metadata::default()
    };
    let protocol = Protocol::for_new_table(&metadata).unwrap();
    let plan = FooterStatistics::new(&metadata, &protocol).unwrap();
    plan.of_footer(&footer).unwrap()
}

/// Writers without the fields `min_value` and `max_value` compared bytes as signed numbers: for them `é` is the
/// minimum, and `z` the maximum.
#[test]
fn deprecated_bounds_of_text_are_not_used() {
    assert_eq!(
        statistics(|column| column.statistics().unwrap().clone()),
        r#"{"numRecords":3,"minValues":{"n":1,"t":"a"},"maxValues":{"n":3,"t":"é"},"nullCount":{"n":0,"t":0}}"#
    );
    let deprecated = |column: &ColumnChunkMetaData| match column.column_descr().name() {
        "n" => ColumnStatistics::int64(Some(1), Some(3), None, Some(0), true),
        _ => {
            let (least, greatest) = (Some("é".into()), Some("z".into()));
            ColumnStatistics::byte_array(least, greatest, None, Some(0), true)
        }
    };
    assert_eq!(
        statistics(deprecated),
        r#"{"numRecords":3,"minValues":{"n":1},"maxValues":{"n":3},"nullCount":{"n":0,"t":0}}"#
    );
}
