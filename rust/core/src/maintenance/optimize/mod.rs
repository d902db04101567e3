//! Optimize: compacts small files and clusters rows.
//!
//! A [`Plan`] selects the live files to rewrite. Compaction packs them into bins and writes each bin as one
//! file; clustering orders the rows of each bin along a space-filling curve and splits them into files of the
//! target size. The rows stay the same: files are added and removed with `dataChange` false, and rows keep
//! their row ids and commit versions. Each bin is a plain value that another process can rewrite.
//!
//! Rows are ordered in bounded memory. A [`SampledOrder`] derives from a sample the position on the curve at
//! which each file begins; [`spill_piece`] writes the rows of a few files into one temporary file,
//! partitioned by position on the curve; [`write_ordered`] reads all parts of a position range, sorts them,
//! and appends them to a file. A part that decodes to more than its share of memory is divided first.
//!
//! Not part of the protocol; selection, parameters and metrics as in delta-spark.
//! Protocol: "Clustered Table".

mod auto;
mod bin;
mod candidates;
mod clustering;
mod curve;
mod execution;
mod order;
mod ordered;
mod pack;
mod plan;
mod sample;
mod spill;

pub use auto::{compaction, is_auto_compacted};
pub use bin::{Bin, metrics};
pub use order::{Curve, SampledOrder};
pub use ordered::write_ordered;
pub use pack::{RewriteSettings, pack};
pub use plan::{Plan, Request, target_file_size};
pub use sample::sample_order;
pub use spill::{SpilledFile, spill_piece};
