//! Changed rows: their schema, pieces of files, streams and splits.

pub(super) mod conversion;
pub(super) mod explain;
pub(super) mod piece;
pub(super) mod read;
pub(super) mod row_hash;
pub(super) mod row_schema;
pub(super) mod split;
pub(super) mod stream;
