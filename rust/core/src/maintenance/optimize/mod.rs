//! Optimize: small files become large ones, and rows that are asked for together lie together.
//!
//! A [`Plan`] says which live files are rewritten: they are packed into bins, and each bin becomes one file;
//! or the rows of each bin are put in order along a curve, and become as many files as there are target
//! sizes in them. No row changes: files are added and removed without a data change, rows keep their ids
//! and commit versions. Each bin is a plain value, and another process can do its work.
//!
//! Rows are put in order in bounded memory. A [`Sampled`] order knows from a sample where on the curve each
//! file begins; [`spill_piece`] writes the rows of a few files into one temporary file, cut by place on the
//! curve; [`write_ordered`] reads all parts of one place, sorts them, and writes them to the end of a file. A
//! part that decodes to more than its share of memory is divided first.
//!
//! Not part of the protocol; what is rewritten, parameters and metrics as in the reference implementation.
//! Protocol: "Clustered Table".

mod auto;
mod bin;
mod candidates;
mod clustering;
mod curve;
mod metrics;
mod order;
mod ordered;
mod pack;
mod plan;
mod sample;
mod spill;

pub use auto::{compaction, is_auto_compacted};
pub use bin::Bin;
pub use metrics::metrics;
pub use order::{Curve, Sampled};
pub use ordered::write_ordered;
pub use pack::{Facts, pack};
pub use plan::{Plan, Request, target_file_size};
pub use sample::sampled;
pub use spill::{Spilled, spill_piece};
