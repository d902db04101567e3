//! The error type of this crate: a kind, by the remedy of the caller; a stable dotted code for machines; the
//! file and the position of corrupt bytes; the cause. Python's exception classes follow from the kind alone.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

mod printable;

pub use printable::{is_invisible, printable};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, by the remedy of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no Delta table at this location.
    TableNotFound,
    /// The table exists, but not the requested version or timestamp.
    VersionNotFound,
    /// The request contradicts itself or the table.
    InvalidArgument,
    /// The table is valid; this build lacks a feature that it needs.
    Unsupported,
    /// The table is invalid: its bytes violate the protocol.
    Corrupt,
    /// Another writer won; read again, then retry.
    Conflict,
    /// Storage failed, perhaps for a moment.
    Storage,
    /// The caller asked to stop (Ctrl-C).
    Interrupted,
}

/// An error, one word wide so that `Result<T>` stays small.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    path: Option<String>,
    version: Option<u64>,
    line: Option<u64>,
    offset: Option<u64>,
    operation: Option<String>,
    cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error: its kind, a stable dotted code such as `commit.json`, and one sentence that says
    /// what is wrong and what to do about it.
    pub fn new(kind: ErrorKind, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code,
            message: message.into(),
            path: None,
            version: None,
            line: None,
            offset: None,
            operation: None,
            cause: None,
        }))
    }

    /// Creates an error for bytes that violate the protocol.
    pub fn corrupt(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, code, message)
    }

    /// Creates an error for a request that contradicts itself or the table.
    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, code, message)
    }

    /// Creates an error for a feature that this build lacks.
    pub fn unsupported(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, code, message)
    }

    /// Creates an error for a failure of the storage.
    pub fn storage(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Storage, code, message)
    }

    /// Creates the error for an interrupt by the caller.
    pub fn interrupted() -> Self {
        Self::new(
            ErrorKind::Interrupted,
            "interrupted",
            "interrupted by the caller",
        )
    }

    /// Sets the file, unless it is set already.
    #[must_use]
    pub fn at_path(mut self, path: impl Into<String>) -> Self {
        self.0.path.get_or_insert_with(|| path.into());
        self
    }

    /// Sets the table version, unless it is set already.
    #[must_use]
    pub fn at_version(mut self, version: u64) -> Self {
        self.0.version.get_or_insert(version);
        self
    }

    /// Sets the line (1-based), unless it is set already.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.line.get_or_insert(line);
        self
    }

    /// Sets the byte offset in the file (0-based), unless it is set already.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds to the line and the byte offset, for a decoder of a piece of the file.
    #[must_use]
    pub fn shift(mut self, lines: u64, bytes: u64) -> Self {
        self.0.line = self.0.line.map(|line| line.saturating_add(lines));
        self.0.offset = self.0.offset.map(|offset| offset.saturating_add(bytes));
        self
    }

    /// Sets the operation of the conflicting commit.
    #[must_use]
    pub fn of_operation(mut self, operation: impl Into<String>) -> Self {
        self.0.operation = Some(operation.into());
        self
    }

    /// Converts an error about a table to one about an argument: corrupt becomes invalid.
    #[must_use]
    pub fn of_argument(mut self) -> Self {
        if self.0.kind == ErrorKind::Corrupt {
            self.0.kind = ErrorKind::InvalidArgument;
        }
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into().into());
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the stable, dotted code, e.g. `checkpoint.parquet`.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// Returns the sentence, without path and position.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the file, relative to the table root if it is below it.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Returns the table version.
    pub fn version(&self) -> Option<u64> {
        self.0.version
    }

    /// Returns the line, 1-based.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// Returns the operation of the conflicting commit.
    pub fn operation(&self) -> Option<&str> {
        self.0.operation.as_deref()
    }

    /// Returns the byte offset, 0-based in the file.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
}

/// Escapes untrusted text, which is nowhere else escaped.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        f.write_str(&printable(&inner.message))?;
        // a line break in a path is not part of the caller's text
        let file = |path: &String| format!("file: {}", printable(path).replace('\n', "\\n"));
        let locations = [
            inner.path.as_ref().map(file),
            inner.line.map(|line| format!("line {line}")),
            inner.offset.map(|offset| format!("byte {offset}")),
            inner.version.map(|version| format!("version {version}")),
        ];
        let locations: Vec<_> = locations.into_iter().flatten().collect();
        if !locations.is_empty() {
            write!(f, " ({})", locations.join(", "))?;
        }
        if let Some(cause) = &inner.cause {
            write!(f, ": {}", printable(&cause.to_string()))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} [{}] {self}", self.0.kind, self.0.code)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}

/// Returns the message of a panic.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests;
