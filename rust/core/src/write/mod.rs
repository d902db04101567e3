//! Writing of data files.
//!
//! An [`InputConverter`] converts rows to the table's columns and checks its constraints; a [`RowWriter`]
//! partitions them and writes Parquet files according to a [`Layout`], with statistics. The memory of open
//! files is limited. Nothing here commits: [`WrittenFiles`] are deleted again unless they are kept.
//!
//! Protocol: "Per-file Statistics", "Partition Value Serialization", "Column Mapping".

pub mod actions;
mod arrow_validity;
pub(crate) mod coerce;
pub(crate) mod columns;
mod constraints;
mod data_writer;
mod derive;
mod encode;
mod evolve;
mod footer;
mod footer_schema;
mod input_converter;
mod layout;
mod partition_values;
mod partitions;
mod paths;
pub mod random;
mod row_display;
mod staged_file;
mod statistics;
mod truncate;
mod writer;

pub use actions::{AddFile, CdcFile, RemoveFile};

pub(crate) use constraints::INVARIANTS;
pub use data_writer::{DataWriter, table_layout};
pub use derive::{
    CURRENT_DEFAULT, check_default, is_identity, keep_high_water_marks, with_high_water_marks,
};
pub(crate) use derive::{GENERATED, MARK};
pub use evolve::{Widening, merged, replacement_schema, widenings};
pub use footer::FooterStatistics;
pub use footer_schema::footer_schema;
pub use input_converter::InputConverter;
pub use layout::{Layout, Purpose};
pub use partitions::Partitions;
pub(crate) use partitions::partition_text;
pub(crate) use paths::{NULL as HIVE_NULL, encoded, escaped};
pub(crate) use row_display::row_display;
pub use staged_file::StagedFile;
pub(crate) use statistics::has_statistics;
pub use writer::{RowWriter, WriteOptions, WrittenFiles};

use arrow_array::{RecordBatch, RecordBatchReader};

use arrow_validity::check_valid;

use crate::error::{Error, Result};
use crate::spec::arrow::split_batch;
use crate::storage::interrupt;

/// The maximum number of rows processed at a time, whatever the size of the incoming batches.
const STEP_ROWS: usize = 64 << 10;
/// The maximum decoded bytes processed at a time: an array with 32-bit offsets has at most 2 GiB of strings.
pub(crate) const STEP_BYTES: u64 = 64 << 20;

/// Calls `take` with the rows of a stream, a bounded number at a time.
///
/// # Errors
///
/// Invalid argument: `rows.source` if the stream fails, `rows.text` and `rows.arrow` for invalid Arrow data.
pub fn each_step(
    rows: Box<dyn RecordBatchReader + Send>,
    take: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut before = 0;
    for batch in rows {
        interrupt::check()?;
        let batch = batch.map_err(|cause| {
            let message = "the rows could not be read to their end: nothing was written";
            Error::invalid("rows.source", message).because(cause)
        })?;
        check_valid(&batch, before)?;
        before += batch.num_rows() as u64;
        split_batch(batch, STEP_ROWS, STEP_BYTES, take)?;
    }
    Ok(())
}
