//! Rows deleted, updated and merged, as staged in a transaction.
//!
//! Protocol: "Deletion Vectors", "Add CDC File", "Row Tracking".

mod change;
mod merge;
mod read_ahead;
mod rewrite;
mod row_plan;
mod update;
mod vectors;

pub use change::Changer;
pub use merge::{
    Clause, InsertClause, KeyRange, Merge, MergeDefinition, NewColumns, SourceRows, Then,
    UnmatchedRows, When, new_columns_of, without_unused,
};
pub use rewrite::Rewrite;
pub use row_plan::{Counts, DeleteAll, RowPlan, RowPlanner};
pub use update::{Assignments, UpdatePlanner};
pub use vectors::write_vectors;
