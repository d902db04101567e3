//! Core errors as the exception classes of `deltareplay.exceptions`.

use deltareplay_core::error::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for a core error: the class by its kind, the facts as attributes.
pub(crate) fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    let facts = PyDict::new(py);
    let built = facts
        .set_item("code", error.code())
        .and_then(|()| facts.set_item("path", error.path()))
        .and_then(|()| facts.set_item("version", error.version()))
        .and_then(|()| facts.set_item("line", error.line()))
        .and_then(|()| facts.set_item("offset", error.offset()))
        .and_then(|()| match error.kind() {
            ErrorKind::Conflict => facts.set_item("operation", error.operation()),
            _ => Ok(()),
        })
        .and_then(|()| build(py, class_name(error), &error.to_string(), &facts));
    built.unwrap_or_else(|failed| failed)
}

/// The exception for a request that the binding itself refuses.
pub(crate) fn invalid(py: Python<'_>, code: &'static str, message: impl Into<String>) -> PyErr {
    to_exception(py, &Error::invalid(code, message))
}

/// The exception for a bug of ours; a panic never reaches Python as such.
pub(crate) fn panicked(py: Python<'_>, message: &str) -> PyErr {
    let facts = PyDict::new(py);
    let text = format!(
        "deltareplay failed inside ({message}). This is a bug of deltareplay, not of the table; \
         please report it together with the transaction log."
    );
    let built = facts
        .set_item("code", "internal.panic")
        .and_then(|()| build(py, "DeltaReplayError", &text, &facts));
    built.unwrap_or_else(|failed| failed)
}

fn build(py: Python<'_>, class: &str, text: &str, facts: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    let class = py.import("deltareplay.exceptions")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((text,), Some(facts))?))
}

fn class_name(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::TableNotFound => "TableNotFoundError",
        ErrorKind::VersionNotFound => "VersionNotFoundError",
        ErrorKind::InvalidArgument => "InvalidArgumentError",
        ErrorKind::Unsupported => "UnsupportedFeatureError",
        ErrorKind::Corrupt => "CorruptTableError",
        ErrorKind::Conflict => "CommitConflictError",
        // the one failure of a storage after which trying again would be wrong
        ErrorKind::Storage if error.code() == "commit.unknown" => "CommitStateUnknownError",
        ErrorKind::Storage => "StorageError",
        _ => "DeltaReplayError",
    }
}
