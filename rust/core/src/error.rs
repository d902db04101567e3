//! The one error type: what went wrong, where, and what a caller can do about it.
//!
//! Few kinds, chosen by what the caller can do; a stable dotted code for machines; the file and the
//! position where bytes were at fault; the cause kept. Python's exception classes follow from
//! [`ErrorKind`] alone.

use std::fmt;

mod printable;

pub use printable::{is_invisible, printable};

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, by the remedy of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No Delta table at this place.
    TableNotFound,
    /// The table is there, the version or timestamp that was requested is not.
    VersionNotFound,
    /// The request contradicts itself or the table.
    InvalidArgument,
    /// The table is fine; this build lacks a feature that it needs.
    Unsupported,
    /// The table is not fine: its bytes break the protocol.
    Corrupt,
    /// Another writer won; read again, then retry.
    Conflict,
    /// Storage failed, perhaps for a moment.
    Storage,
    /// The caller asked to stop (Ctrl-C).
    Interrupted,
}

/// One word wide, so that `Result<T>` stays small.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    path: Option<String>,
    version: Option<u64>,
    line: Option<u64>,
    offset: Option<u64>,
    operation: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A new error: its kind, a stable dotted code such as `commit.json`, and one sentence that says
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

    /// Bytes that break the protocol.
    pub fn corrupt(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, code, message)
    }

    /// A request that contradicts itself or the table.
    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, code, message)
    }

    /// A feature that this build lacks.
    pub fn unsupported(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, code, message)
    }

    /// A failure of the storage below.
    pub fn storage(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Storage, code, message)
    }

    /// The caller asked to stop.
    pub fn interrupted() -> Self {
        Self::new(
            ErrorKind::Interrupted,
            "interrupted",
            "interrupted by the caller",
        )
    }

    /// Names the file at fault; the innermost name, set first, stays.
    #[must_use]
    pub fn at_path(mut self, path: impl Into<String>) -> Self {
        self.0.path.get_or_insert_with(|| path.into());
        self
    }

    /// Names the table version at fault; the first one set stays.
    #[must_use]
    pub fn at_version(mut self, version: u64) -> Self {
        self.0.version.get_or_insert(version);
        self
    }

    /// Names the line at fault (1-based); the first one set stays.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.line.get_or_insert(line);
        self
    }

    /// Names the byte at fault (0-based, in the file); the first one set stays.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds to line and byte: for a decoder that was given a piece of the file.
    #[must_use]
    pub fn shift(mut self, lines: u64, bytes: u64) -> Self {
        self.0.line = self.0.line.map(|line| line.saturating_add(lines));
        self.0.offset = self.0.offset.map(|offset| offset.saturating_add(bytes));
        self
    }

    /// Names the operation of the commit that was in the way.
    #[must_use]
    pub fn of_operation(mut self, operation: impl Into<String>) -> Self {
        self.0.operation = Some(operation.into());
        self
    }

    /// The same where a caller has passed what is wrong, and no table has it: corrupt becomes invalid.
    #[must_use]
    pub fn of_argument(mut self) -> Self {
        if self.0.kind == ErrorKind::Corrupt {
            self.0.kind = ErrorKind::InvalidArgument;
        }
        self
    }

    /// Keeps the error that led to this one.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// The same error for another who waits for the same thing; its cause as text.
    #[must_use]
    pub fn again(&self) -> Self {
        let inner = &self.0;
        let cause = inner.cause.as_ref().map(|cause| cause.to_string().into());
        Self(Box::new(Inner {
            kind: inner.kind,
            code: inner.code,
            message: inner.message.clone(),
            path: inner.path.clone(),
            version: inner.version,
            line: inner.line,
            offset: inner.offset,
            operation: inner.operation.clone(),
            cause,
        }))
    }

    /// Returns the kind of the error, by the remedy of the caller.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// A stable, dotted code, e.g. `checkpoint.parquet`.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The sentence, without path and position.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file at fault, relative to the table root where it is below it.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// The table version at fault.
    pub fn version(&self) -> Option<u64> {
        self.0.version
    }

    /// The line at fault, 1-based.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The operation of the commit that was in the way.
    pub fn operation(&self) -> Option<&str> {
        self.0.operation.as_deref()
    }

    /// The byte at fault, 0-based in the file.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
}

/// As a person reads it: text of strangers is made safe here, and nowhere before.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        f.write_str(&printable(&inner.message))?;
        let mut locations = Vec::new();
        if let Some(path) = &inner.path {
            // no line of a path is the caller's text
            locations.push(format!("file: {}", printable(path).replace('\n', "\\n")));
        }
        if let Some(line) = inner.line {
            locations.push(format!("line {line}"));
        }
        if let Some(offset) = inner.offset {
            locations.push(format!("byte {offset}"));
        }
        if let Some(version) = inner.version {
            locations.push(format!("version {version}"));
        }
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

#[cfg(test)]
mod tests;
