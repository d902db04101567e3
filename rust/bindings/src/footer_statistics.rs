//! `FooterStatistics`: statistics of data files that another engine has written.

use std::collections::BTreeMap;

use deltareplay_core::spec::actions::Metadata;
use deltareplay_core::transaction::rows;
use pyo3::prelude::*;

use crate::gate::detached;
use crate::protocol::{Versions, protocol};
use crate::table::Table;

/// Which statistics the files of a table have.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct FooterStatistics(rows::FooterStatistics);

#[pymethods]
impl FooterStatistics {
    #[new]
    fn new(
        py: Python<'_>,
        schema_string: String,
        partition_columns: Vec<String>,
        configuration: BTreeMap<String, String>,
        versions: Versions,
    ) -> PyResult<Self> {
        let metadata = Metadata {
            schema_string,
            partition_columns,
            configuration,
            ..Metadata::default()
        };
        let protocol = protocol(versions);
        detached(py, || {
            rows::FooterStatistics::new(&metadata, &protocol).map(Self)
        })
    }

    /// The statistics of a file of a table, as JSON; the path is as in the log.
    fn read(&self, py: Python<'_>, table: &Table, path: &str, size: u64) -> PyResult<String> {
        detached(py, || self.0.read(table.0.source(), path, size))
    }
}
