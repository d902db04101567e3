//! `Table`: the location of a table and its options.
//!
//! Only the class, for other modules; its Python methods are in `methods`, which imports nearly every other
//! class.

use deltareplay_core::table;
use pyo3::prelude::*;

mod columns;
mod methods;

/// A table: its location and the options of its storage. Creating one does no I/O.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Table(pub(crate) table::Table);
