//! Data files: errors name the file, and rows are valid.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::Array;
use deltareplay_core::error::Result;
use deltareplay_core::scan::ScanFile;
use deltareplay_core::scan::data_file::{DataFile, Extras, ReadPlan, TableLayout};
use deltareplay_core::spec::schema::StructType;
use deltareplay_core::storage::Storage;

use super::tables::{Files, assert_names};
use super::{Target, feature};

/// The columns of the seeds, one of each kind.
const SCHEMA: &str = r#"{"type":"struct","fields":[
    {"name":"flag","type":"boolean"},{"name":"number","type":"integer"},{"name":"id","type":"long"},
    {"name":"day","type":"date"},{"name":"at","type":"timestamp"},{"name":"x","type":"double"},
    {"name":"y","type":"float"},{"name":"small","type":"decimal(9,2)"},
    {"name":"middle","type":"decimal(18,3)"},{"name":"large","type":"decimal(38,10)"},
    {"name":"name","type":"string"},{"name":"data","type":"binary"},
    {"name":"list","type":{"type":"array","elementType":"string","containsNull":true}}]}"#;

/// A file with some of these columns.
pub const DATA_FILES: Target = Target {
    name: "data_files",
    words: &[],
    memory: |bytes| (16 << 20) + bytes * 20_000,
    run: run_data_files,
};

fn run_data_files(input: &[u8]) -> u64 {
    let result = read(input);
    assert_names(&result, "_delta_log/f.parquet");
    feature(&result)
}

/// Returns the number of rows, and of values that are not null.
fn read(input: &[u8]) -> Result<u64> {
    let layout = TableLayout {
        schema: StructType::parse(SCHEMA)?,
        ..TableLayout::default()
    };
    let plan = ReadPlan::new(layout, None, Extras::default())?;
    let storage: Arc<dyn Storage> = Arc::new(Files::default().with("f.parquet", input));
    let file = DataFile {
        path: "_delta_log/f.parquet".into(),
        file: Cow::Owned(ScanFile {
            path: "_delta_log/f.parquet".to_owned(),
            size: input.len() as i64,
            ..ScanFile::default()
        }),
        ..DataFile::default()
    };
    let (mut rows, mut values) = (0, 0);
    let open = Arc::new(plan.open_file(&storage, &file)?);
    for unit in open.units() {
        for batch in open.read(&unit)? {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            for column in batch.columns() {
                column.to_data().validate_full().unwrap();
                values += (column.len() - column.null_count()) as u64;
            }
        }
    }
    Ok(rows.min(255) << 8 | values.min(255))
}
