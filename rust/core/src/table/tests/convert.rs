use parquet::arrow::ArrowWriter;

use super::*;
use crate::maintenance::convert::Conversion;

fn put_parquet(table: &Table, path: &str, rows: &[Row]) {
    let rows = batch(rows);
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    let bytes = writer.into_inner().unwrap();
    table.source().storage.put(path, &bytes).unwrap();
}

fn convert(table: &Table, conversion: &Conversion) -> Result<Option<u64>, &'static str> {
    let options = TransactionOptions::default();
    let converted = table.convert(conversion, options);
    converted.map_err(|error| error.code())
}

#[test]
fn parquet_files_become_the_files_of_a_table() {
    let table = nowhere();
    put_parquet(&table, "one.parquet", &[(1, "a"), (2, "b")]);
    put_parquet(&table, "two.parquet", &[(3, "c")]);
    let conversion = Conversion {
        statistics: true,
        ..Conversion::default()
    };

    assert_eq!(convert(&table, &conversion), Ok(Some(0)));

    assert_rows(&table, &[(1, "a"), (2, "b"), (3, "c")]);
    assert_eq!(newest(&table).num_rows(table.source()).unwrap(), Some(3));
    assert_eq!(convert(&table, &conversion), Ok(None), "a table already");
}

#[test]
fn directories_become_partitions() {
    let table = nowhere();
    put_parquet(&table, "size=10/one.parquet", &[(1, "a")]);
    put_parquet(&table, "size=20/two.parquet", &[(2, "b")]);
    let sizes: ArrayRef = Arc::new(Int64Array::from(vec![0]));
    let columns = RecordBatch::try_from_iter([("size", sizes)]).unwrap();
    let conversion = Conversion {
        partition_schema: StructType::from_arrow(&columns.schema()).unwrap(),
        ..Conversion::default()
    };

    assert_eq!(convert(&table, &conversion), Ok(Some(0)));

    let mut result = Vec::new();
    for rows in scanned(&table, &newest(&table)) {
        let column = |name| {
            rows.column_by_name(name)
                .unwrap()
                .as_primitive::<Int64Type>()
        };
        result.extend(column("id").iter().zip(column("size")));
    }
    result.sort_unstable();
    assert_eq!(result, [(Some(1), Some(10)), (Some(2), Some(20))]);
}

#[test]
fn a_directory_without_files_is_no_table() {
    let conversion = Conversion::default();
    assert_eq!(convert(&nowhere(), &conversion), Err("convert.no_files"));
}
