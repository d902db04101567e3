//! `Table`: where a table is and how to get there.
//!
//! Only the class, which other modules take; its Python methods are in `methods`, which imports
//! nearly every other class.

use deltareplay_core::table;
use pyo3::prelude::*;

mod columns;
mod methods;

/// A table: its place and the options of its storage. Making one does no I/O.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Table(pub(crate) table::Table);
