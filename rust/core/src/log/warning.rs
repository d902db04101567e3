//! Problems that were skipped when a snapshot was loaded, with their reasons.

use std::fmt;

/// A problem in the log that did not prevent reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogWarning {
    /// Stable and dotted, e.g. `hint.corrupt`.
    pub code: &'static str,
    /// The file, relative to the table root.
    pub path: Option<String>,
    /// The version that the file belongs to.
    pub version: Option<u64>,
    /// The problem, and what was done instead.
    pub message: String,
}

impl LogWarning {
    /// Creates a warning about one file.
    pub fn new(
        code: &'static str,
        path: impl Into<String>,
        version: Option<u64>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            path: Some(path.into()),
            version,
            message: message.into(),
        }
    }
}

impl fmt::Display for LogWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)?;
        match &self.path {
            Some(path) => write!(f, " (file: {path})"),
            None => Ok(()),
        }
    }
}
