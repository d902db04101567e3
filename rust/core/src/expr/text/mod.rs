//! Expressions as SQL text and as tuples: parsing and printing.

pub(super) mod calls;
pub(super) mod parse;
pub(super) mod print;
pub(super) mod string_literals;
pub(super) mod tuples;
