//! `Table`: where a table lies and how to get there.
//!
//! The class alone, for those that take one; what Python calls on it stands in `methods`, which gives
//! out nearly every other class.

use deltareplay_core::table;
use pyo3::prelude::*;

mod columns;
mod methods;

/// A table: its place and the options of its storage. Making one does no I/O.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Table(pub(crate) table::Table);
