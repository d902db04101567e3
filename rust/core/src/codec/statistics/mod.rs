//! File statistics: JSON text, and typed Arrow structs.
//!
//! Protocol: "Per-file Statistics".

mod columns;
mod format;
mod num_records;
mod parse;
mod render;
mod scan;
mod schema;
mod shape;
mod widen;

pub use num_records::num_records;
pub use parse::parse_stats;
pub use render::render_stats;
pub use schema::stats_schema;
pub use shape::{contains_leaves, convert, has_values_for, union};
pub use widen::{Side, max_rounding_error, widen_bounds};

/// Columns in more structs than this have no statistics; `minValues` and the like do not count.
const MAX_SCHEMA_DEPTH: usize = 100;
