//! Values: literals, their order, casts of strings.

pub(super) mod canonical_order;
pub(super) mod casts;
pub(super) mod comparison;
pub(crate) mod family;
pub(crate) mod floats;
pub(super) mod literal;
