//! Expressions as text and tuples: read into trees, and printed.

pub(super) mod parse;
pub(super) mod print;
pub(super) mod string_literals;
pub(super) mod tuples;
