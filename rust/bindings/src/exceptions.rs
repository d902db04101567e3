//! Converts core errors to the exception classes of `deltareplay.exceptions`.

use std::fmt;

use deltareplay_core::error::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception classes of error kinds.
const CLASSES: [(&str, ErrorKind); 7] = [
    ("TableNotFoundError", ErrorKind::TableNotFound),
    ("VersionNotFoundError", ErrorKind::VersionNotFound),
    ("InvalidArgumentError", ErrorKind::InvalidArgument),
    ("UnsupportedFeatureError", ErrorKind::Unsupported),
    ("CorruptTableError", ErrorKind::Corrupt),
    ("CommitConflictError", ErrorKind::Conflict),
    ("StorageError", ErrorKind::Storage),
];

/// An exception raised by Python code that the core called: the cause of a core error.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) PyErr);

impl fmt::Display for Raised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for Raised {}

impl Raised {
    /// Returns the error kind of an exception from `deltareplay.exceptions`; `None` for other exceptions.
    pub(crate) fn kind(py: Python<'_>, error: &PyErr) -> Option<ErrorKind> {
        let module = py.import("deltareplay.exceptions").ok()?;
        let is = |class: &str| {
            let class = module.getattr(class);
            class.is_ok_and(|class| error.matches(py, class).unwrap_or(false))
        };
        let base_class = ("DeltaReplayError", ErrorKind::InvalidArgument);
        let mut classes = CLASSES.into_iter().chain([base_class]);
        classes.find(|(class, _)| is(class)).map(|(_, kind)| kind)
    }
}

/// Returns the exception for a core error: its class follows from the kind and, for `commit.unknown`, from
/// the code; it has the details as attributes. An exception from `deltareplay.exceptions` that a catalog
/// raised is returned as it is; other exceptions of Python code become the cause.
pub(crate) fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    let mut cause = std::error::Error::source(error);
    while let Some(current) = cause {
        if let Some(Raised(raised)) = current.downcast_ref::<Raised>() {
            if error.code() == "catalog.failed" && Raised::kind(py, raised).is_some() {
                return raised.clone_ref(py);
            }
            let exception = without_cause(py, error);
            exception.set_cause(py, Some(raised.clone_ref(py)));
            return exception;
        }
        cause = current.source();
    }
    without_cause(py, error)
}

fn without_cause(py: Python<'_>, error: &Error) -> PyErr {
    let exception = || {
        let attributes = PyDict::new(py);
        attributes.set_item("code", error.code())?;
        attributes.set_item("path", error.path())?;
        attributes.set_item("version", error.version())?;
        attributes.set_item("line", error.line())?;
        attributes.set_item("offset", error.offset())?;
        if error.kind() == ErrorKind::Conflict {
            attributes.set_item("operation", error.operation())?;
        }
        build(py, class_name(error), &error.to_string(), &attributes)
    };
    exception().unwrap_or_else(|failed| failed)
}

/// Returns the exception for a request that the binding itself refuses.
pub(crate) fn invalid(py: Python<'_>, code: &'static str, message: impl Into<String>) -> PyErr {
    to_exception(py, &Error::invalid(code, message))
}

/// Returns the exception for a panic of the core: the panic itself never reaches Python.
pub(crate) fn panicked(py: Python<'_>, message: &str) -> PyErr {
    let text = format!(
        "deltareplay panicked ({message}). This is a bug in deltareplay, not in the table; please report it \
         together with the transaction log."
    );
    let exception = || {
        let attributes = PyDict::new(py);
        attributes.set_item("code", "internal.panic")?;
        build(py, "DeltaReplayError", &text, &attributes)
    };
    exception().unwrap_or_else(|failed| failed)
}

fn build(
    py: Python<'_>,
    class: &str,
    text: &str,
    attributes: &Bound<'_, PyDict>,
) -> PyResult<PyErr> {
    let class = py.import("deltareplay.exceptions")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((text,), Some(attributes))?))
}

fn class_name(error: &Error) -> &'static str {
    if error.code() == "commit.unknown" {
        return "CommitStateUnknownError"; // the only storage error after which the caller must not retry
    }
    let class = CLASSES.into_iter().find(|(_, kind)| *kind == error.kind());
    class.map_or("DeltaReplayError", |(class, _)| class)
}
