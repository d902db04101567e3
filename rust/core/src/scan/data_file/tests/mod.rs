//! Files written with the parquet crate, read by a plan, compared with the original.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use tempfile::TempDir;

use super::*;
use crate::error::Result;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::StructType;
use crate::storage::Storage;
use crate::storage::tests::counting::CountingStorage;

mod faults;
mod filter;
mod mapping;
mod rows;
mod types;

/// A table's data files in a temporary directory.
struct Files {
    directory: TempDir,
    counting: CountingStorage,
}

impl Files {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let storage = crate::storage::tests::open(directory.path().to_str().unwrap(), &[]).unwrap();
        Self {
            directory,
            counting: CountingStorage::new(storage),
        }
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(self.counting.clone())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> DataFile<'static> {
        std::fs::write(self.directory.path().join(name), bytes).unwrap();
        DataFile {
            path: name.to_owned().into(),
            file: Cow::Owned(ScanFile {
                path: format!("log/{name}"),
                size: bytes.len() as i64,
                ..ScanFile::default()
            }),
            ..DataFile::default()
        }
    }

    /// Reads all rows of a file as one batch.
    fn read(&self, plan: &ReadPlan, file: &DataFile<'_>) -> Result<RecordBatch> {
        let open = Arc::new(plan.open_file(&self.storage(), file)?);
        let mut batches = Vec::new();
        for unit in open.units() {
            batches.extend(open.read(&unit)?.collect::<Result<Vec<_>>>()?);
        }
        for batch in &batches {
            assert_eq!(batch.schema(), plan.schema());
        }
        Ok(concat_batches(&plan.schema(), &batches).unwrap())
    }
}

/// Writes a Parquet file with these columns, and this many rows per row group and page.
fn parquet_of(columns: Vec<(Field, ArrayRef)>, group: usize, page: usize) -> Vec<u8> {
    parquet_with(columns, writer_properties(group, page).build())
}

/// Returns properties with this many rows per row group and page.
fn writer_properties(group: usize, page: usize) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(page)
        .set_write_batch_size(page.min(1024))
}

fn parquet_with(columns: Vec<(Field, ArrayRef)>, properties: WriterProperties) -> Vec<u8> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array));
    parquet_of(columns.collect(), 1 << 20, 1 << 20)
}

/// Creates a layout without column mapping, from `name type` pairs as in the log.
fn layout(fields: &[(&str, &str)]) -> TableLayout {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, data_type)| format!(r#"{{"name":"{name}","type":{data_type}}}"#))
        .collect();
    layout_of(&fields.join(","), ColumnMappingMode::None)
}

fn layout_of(fields: &str, column_mapping: ColumnMappingMode) -> TableLayout {
    let text = format!(r#"{{"type":"struct","fields":[{fields}]}}"#);
    TableLayout {
        schema: StructType::parse(&text).unwrap(),
        column_mapping,
        ..TableLayout::default()
    }
}

fn plan(layout: TableLayout) -> ReadPlan {
    ReadPlan::new(layout, None, Extras::default()).unwrap()
}

fn deleting(rows: impl IntoIterator<Item = u64>) -> Option<Arc<DeletionVector>> {
    Some(Arc::new(DeletionVector::from_rows(rows).unwrap()))
}
