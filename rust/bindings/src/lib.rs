//! `deltareplay._native`: the core for Python.
//!
//! Converts arguments, releases the interpreter lock, exports Arrow data by its C interface and converts
//! errors to the classes of `deltareplay.exceptions`. No logic, and no thread at import.

mod arguments;
mod batches;
mod catalog;
mod changes;
mod checkpoint_plan;
mod cloning;
mod conversion;
mod definition;
mod deletion_vector;
mod exceptions;
mod filter;
mod follow;
mod gate;
mod maintenance;
mod marked_rows;
mod metadata;
mod optimize;
mod pieces;
mod progress;
mod protocol;
mod rows;
mod scan;
mod snapshot;
mod table;
mod transaction;
mod written;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The engine of deltareplay; use the classes of the package `deltareplay` instead.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batches::{ArrowBatch, ArrowSchema, ArrowTable, BatchIterator};
    #[pymodule_export]
    use super::changes::{ChangeShuffle, ChangeSplit, Changes};
    #[pymodule_export]
    use super::checkpoint_plan::CheckpointPlan;
    #[pymodule_export]
    use super::cloning::{Cloning, copy_files, generate_symlinks};
    #[pymodule_export]
    use super::conversion::Conversion;
    #[pymodule_export]
    use super::definition::{
        checked_property, is_read_as, new_table, overwritten_metadata, widens, with_columns,
        with_identity_marks,
    };
    #[pymodule_export]
    use super::deletion_vector::{DeletionVector, pack_deletion_vectors};
    #[pymodule_export]
    use super::filter::{
        filter_at, literal_text, local_times, quoted_columns, spark_expression, target_filter,
        with_timestamps, without_ansi,
    };
    #[pymodule_export]
    use super::follow::Follow;
    #[pymodule_export]
    use super::maintenance::{
        cleanup_log, is_kept_by_restore, optimize_log, restore, vacuum, vacuum_cutoff, verify,
        verify_split,
    };
    #[pymodule_export]
    use super::marked_rows::MarkedRows;
    #[pymodule_export]
    use super::optimize::{
        OptimizePlan, discard_spilled, is_auto_compacted, optimize, pack_files, spill_piece,
        target_file_size, write_ordered,
    };
    #[pymodule_export]
    use super::pieces::{ReplayPiece, ReplayTail};
    #[pymodule_export]
    use super::protocol::{
        automatically_enabled_features, protocol_can_upgrade_to, protocol_features,
        protocol_for_new_table, protocol_merge, protocol_required_minimum, protocol_upgrade_for,
        protocol_with_feature, protocol_without_feature, why_not_readable, why_not_writable,
    };
    #[pymodule_export]
    use super::rows::{
        discard_directory, discard_staged, move_staged, stage_rows, staged_statistics,
    };
    #[pymodule_export]
    use super::scan::{Scan, Split};
    #[pymodule_export]
    use super::snapshot::Snapshot;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::transaction::{Transaction, schema_string};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::gate::install_interrupt_hook();
        deltareplay_core::codec::decoder::hide_decoder_panics();
        Ok(())
    }
}
