//! The statements that change rows or the definition of a table: CREATE, ALTER, INSERT, DELETE, UPDATE and MERGE.
//!
//! Protocol: "Deletion Vectors", "Add CDC File", "Row Tracking".

mod alter;
mod append;
mod change;
mod create;
mod delete;
mod drop_feature;
mod drop_history;
mod merge;
mod overwrite;
mod read_ahead;
mod row_plan;
mod stage_rows;
mod update;
mod vectors;
mod write;

pub use alter::Alteration;
pub use create::{CreateMode, TableDefinition};
pub use merge::{Clause, MergeDefinition, Then, When};
pub use overwrite::Replaced;
pub use stage_rows::StagedRows;
pub use update::Assignments;
pub use vectors::write_vectors;
pub use write::merged_metadata;

#[cfg(test)]
mod tests;
