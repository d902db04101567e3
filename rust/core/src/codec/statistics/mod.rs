//! File statistics: JSON text on one side, typed Arrow structs on the other.
//!
//! Protocol: "Per-file Statistics".

mod format;
mod num_records;
mod render;
mod scan;

pub use num_records::num_records;
pub use render::{render_stats, render_stats_as};

/// Columns nested deeper than this have no statistics here.
const MAX_SCHEMA_DEPTH: usize = 100;
