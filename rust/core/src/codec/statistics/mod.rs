//! File statistics: JSON text, and typed Arrow structs.
//!
//! Protocol: "Per-file Statistics".

mod columns;
mod format;
mod loosened;
mod num_records;
mod parse;
mod render;
mod scan;
mod schema;
mod shape;

pub use loosened::{Side, loosened, rounding};
pub use num_records::num_records;
pub use parse::parse_stats;
pub use render::{render_stats, render_stats_as};
pub use schema::stats_schema;
pub use shape::{gives, holds, shaped, union};

/// Columns nested deeper than this have no statistics.
const MAX_SCHEMA_DEPTH: usize = 100;
