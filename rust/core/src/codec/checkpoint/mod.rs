//! Decoder for checkpoint Parquet files: classic files, parts, V2 manifests and sidecars.
//!
//! The caller fetches the bytes that the decoder requests: first the footer, then the requested leaf columns,
//! unit by unit.
//!
//! Protocol: "Checkpoints", "Checkpoint Schema".

use std::sync::Arc;

use arrow_array::{Array, StructArray};
use arrow_buffer::NullBuffer;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::ParquetMetaData;

use crate::codec::file_actions::FileField;
use crate::codec::parquet_file::{
    FetchedBytes, FooterRules, MAX_CHECKPOINT_PAGE, PageRules, guarded,
};
use crate::error::{Error, Result};

mod control;
mod leaves;
mod legacy_stats;
mod parsed_columns;
mod rows;
mod types;
mod units;

pub use control::Control;
pub use rows::FileRows;
pub use units::Unit;

use types::{check_types, reading_schema};

const CODE: &str = "checkpoint.parquet";

const PAGES: PageRules = PageRules {
    code: CODE,
    message: "the Parquet file does not decode",
    max_bytes: MAX_CHECKPOINT_PAGE,
};

/// The columns that hold actions.
const ACTIONS: [&str; 8] = [
    "add",
    "remove",
    "protocol",
    "metaData",
    "txn",
    "domainMetadata",
    "sidecar",
    "checkpointMetadata",
];
const FILE_ACTIONS: [&str; 2] = ["add", "remove"];

/// The required field of each action that is decoded, which `checkpointMetadata` is not.
const REQUIRED: [[&str; 2]; 7] = [
    ["add", "path"],
    ["remove", "path"],
    ["protocol", "minReaderVersion"],
    ["metaData", "id"],
    ["txn", "appId"],
    ["domainMetadata", "domain"],
    ["sidecar", "path"],
];

/// The kind of a file action of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// `add`
    Add,
    /// `remove`
    Remove,
}

impl FileAction {
    /// Returns the name of the column.
    pub fn name(self) -> &'static str {
        match self {
            FileAction::Add => "add",
            FileAction::Remove => "remove",
        }
    }
}

/// A Parquet file of a checkpoint with its decoded footer.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    arrow: ArrowReaderMetadata,
    length: u64,
}

impl CheckpointFile {
    /// The rules for its footer: the number of rows is limited by the file size.
    pub const FOOTER: FooterRules = FooterRules {
        code: CODE,
        max_rows_per_byte: 200,
        page_index: true,
        accepts_encrypted_columns: false,
    };

    /// Creates a file of `length` bytes with this footer.
    ///
    /// # Errors
    ///
    /// Corrupt: `checkpoint.parquet` if the schema cannot be converted to Arrow, `checkpoint.columns` if the
    /// columns are not those of a checkpoint.
    pub fn new(footer: ParquetMetaData, length: u64) -> Result<Self> {
        guarded(CODE, || Self::of(Arc::new(footer), length))
    }

    /// Returns an empty buffer for the file's bytes.
    pub fn unfetched(&self) -> FetchedBytes {
        FetchedBytes::new(self.length)
    }

    fn of(metadata: Arc<ParquetMetaData>, length: u64) -> Result<Self> {
        let options = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options())
            .map_err(|cause| PAGES.error(cause))?;
        check_types(plain.schema())?;
        let leaves = metadata.file_metadata().schema_descr();
        let schema = Arc::new(reading_schema(plain.schema(), leaves));
        let arrow = ArrowReaderMetadata::try_new(metadata, options().with_schema(schema))
            .map_err(|cause| PAGES.error(cause))?;
        let file = Self { arrow, length };
        file.check_shape()?;
        Ok(file)
    }

    /// Checks that actions and deletion vectors are structs, since columns of any other type would be ignored
    /// silently; that each action has the column of its required field; and that partition values, if the file has
    /// them, are in the column that readers use.
    fn check_shape(&self) -> Result<()> {
        let vector = FileField::DeletionVector.name();
        let not_structs = self.leaves(|parts| match parts {
            [root] => ACTIONS.contains(&root.as_str()),
            [root, field] => FILE_ACTIONS.contains(&root.as_str()) && field == vector,
            _ => false,
        });
        if let Some(leaf) = not_structs.first() {
            let schema = self.metadata().file_metadata().schema_descr();
            let message = format!("{} is not a struct", schema.column(*leaf).path());
            return Err(Error::corrupt("checkpoint.columns", message));
        }
        let under_add = |field: &str| {
            self.leaves(|parts| parts.starts_with(&["add".to_owned(), field.to_owned()]))
        };
        let parsed = under_add("partitionValues_parsed");
        if !parsed.is_empty() && under_add(FileField::PartitionValues.name()).is_empty() {
            let message = "add has no column partitionValues";
            return Err(Error::corrupt("checkpoint.columns", message));
        }
        for [root, field] in REQUIRED {
            let leaves = self.leaves(|parts| matches!(parts, [first, ..] if first == root));
            if !leaves.is_empty() && self.leaf(&[root, field]).is_none() {
                let message = format!("{root} has no column {field}");
                return Err(Error::corrupt("checkpoint.columns", message));
            }
        }
        Ok(())
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.arrow.metadata()
    }

    /// Returns the leaves whose path is accepted.
    fn leaves(&self, accept: impl Fn(&[String]) -> bool) -> Vec<usize> {
        let schema = self.metadata().file_metadata().schema_descr();
        (0..schema.num_columns())
            .filter(|leaf| accept(schema.column(*leaf).path().parts()))
            .collect()
    }

    /// Returns the first leaf at this path.
    fn leaf(&self, path: &[&str]) -> Option<usize> {
        self.leaves(|parts| parts.iter().map(String::as_str).eq(path.iter().copied()))
            .first()
            .copied()
    }
}

/// Returns the error for an action without its required field. `row` is the index within the row group, or
/// `None` if only some rows were decoded.
fn without_field(root: &str, field: &str, row_group: usize, row: Option<usize>) -> Error {
    let row = row.map_or_else(|| "a row".to_owned(), |row| format!("row {row}"));
    let message = format!(
        "{row} of row group {row_group} holds {root} without {root}.{field}: restore the checkpoint from a \
         backup, or delete it if the commits before it are still in the log"
    );
    Error::corrupt("checkpoint.rows", message)
}

/// Returns the first row with the action but without its required field; `present` marks the rows with both.
/// If the file declares the action itself required, the field alone determines which rows have it.
fn first_without(
    rows: &StructArray,
    present: Option<&NullBuffer>,
    required: bool,
) -> Option<usize> {
    let present =
        present.filter(|present| !required && present.null_count() > rows.null_count())?;
    (0..rows.len()).find(|row| rows.is_valid(*row) && present.is_null(*row))
}

fn arrow_error(cause: arrow_schema::ArrowError) -> Error {
    let message = "the checkpoint's columns do not have the protocol's types";
    Error::corrupt("checkpoint.columns", message).because(cause)
}
