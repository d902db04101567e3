//! Findings of a verification: the fault, its severity, and the remedy.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::log::LogWarning;
use crate::log::path::SIDECAR_DIRECTORY;

/// Maximum number of findings listed per code.
const MAX_LISTED: u64 = 1_000;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Data is lost or wrong, or readers disagree.
    Error,
    /// Readers can work around the fault.
    Warning,
    /// Nothing is wrong yet, or this release cannot check it.
    Info,
}

/// A fault of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// Stable, dotted code.
    pub code: &'static str,
    /// The file, relative to the table root.
    pub path: Option<String>,
    /// The version.
    pub version: Option<u64>,
    /// The line of the file, 1-based.
    pub line: Option<u64>,
    /// The byte offset in the file.
    pub offset: Option<u64>,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub remedy: &'static str,
}

/// The findings of a part of a verification, to be merged with the other parts.
#[derive(Clone, Debug, Serialize)]
pub struct PartFindings {
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// The number of findings that are not listed because of the limit per code.
    pub omitted: u64,
}

pub(super) type Location<'a> = (Option<&'a str>, Option<u64>);

#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    counts: BTreeMap<&'static str, u64>,
    pub(super) omitted: u64,
    omitted_paths: HashSet<String>,
}

impl Findings {
    pub(super) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        location: Location<'_>,
        message: impl Into<String>,
    ) {
        self.push(Finding {
            severity,
            code,
            path: location.0.map(str::to_owned),
            version: location.1,
            line: None,
            offset: None,
            message: message.into(),
            remedy: remedy(code, location.0.unwrap_or_default()),
        });
    }

    pub(super) fn fault(
        &mut self,
        code: &'static str,
        location: Location<'_>,
        message: impl Into<String>,
    ) {
        self.add(Severity::Error, code, location, message);
    }

    fn push(&mut self, finding: Finding) {
        let same = |other: &Finding| {
            (other.code, &other.path, &other.message)
                == (finding.code, &finding.path, &finding.message)
                && (other.line, other.offset) == (finding.line, finding.offset)
        };
        if self.list.iter().rev().take(64).any(same) {
            return;
        }
        let count = self.counts.entry(finding.code).or_default();
        *count += 1;
        if *count > MAX_LISTED {
            self.omitted += 1;
            if finding.severity == Severity::Error {
                self.omitted_paths.extend(finding.path);
            }
            return;
        }
        self.list.push(finding);
    }

    /// Returns the files with an error, listed or omitted.
    pub(super) fn files_with_errors(&self) -> HashSet<String> {
        let errors = self.list.iter();
        let errors = errors.filter(|finding| finding.severity == Severity::Error);
        let listed = errors.filter_map(|finding| finding.path.clone());
        listed.chain(self.omitted_paths.iter().cloned()).collect()
    }

    /// Adds a fault that readers tolerate.
    pub(super) fn warning(&mut self, warning: &LogWarning) {
        let location = (warning.path.as_deref(), warning.version);
        self.add(
            Severity::Warning,
            warning.code,
            location,
            warning.message.clone(),
        );
    }

    /// Adds an error that ended a check; returns it if it is an interrupt.
    pub(super) fn error(&mut self, error: Error) -> Result<()> {
        if error.kind() == ErrorKind::Interrupted {
            return Err(error);
        }
        let severity = match error.kind() {
            // a later release cannot read an encrypted file either
            ErrorKind::Unsupported if error.code() != "data.encrypted" => Severity::Info,
            _ => Severity::Error,
        };
        self.push(Finding {
            severity,
            code: error.code(),
            path: error.path().map(str::to_owned),
            version: error.version(),
            line: error.line(),
            offset: error.offset(),
            message: error.message().to_owned(),
            remedy: remedy(error.code(), error.path().unwrap_or_default()),
        });
        Ok(())
    }

    /// Returns the value, or records the error as a finding.
    pub(super) fn unless_interrupted<T>(&mut self, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.error(error).map(|()| None),
        }
    }

    pub(super) fn part(self) -> PartFindings {
        PartFindings {
            omitted: self.omitted,
            findings: self.finish(),
        }
    }

    pub(super) fn finish(mut self) -> Vec<Finding> {
        self.list.sort_by(|left, right| {
            let rank = |finding: &Finding| (finding.severity, finding.version);
            rank(left).cmp(&rank(right))
        });
        self.list
    }
}

fn remedy(code: &str, path: &str) -> &'static str {
    let rewrite = "delete the checkpoint if the commits before it still exist, and write a new one with checkpoint()";
    match code {
        "checkpoint.sidecar_missing" => {
            "restore the sidecar; or delete the checkpoint if the commits before it still exist"
        }
        "checkpoint.incomplete" | "log.empty_file" => "delete the file: readers ignore it",
        "sidecar.orphan" => "cleanup_log() deletes it with the next expired commits",
        "file.missing" => {
            "restore the file; or remove it from the table in a transaction, which loses its rows"
        }
        "file.link" => {
            "replace the link by the file; or open the table with the location of the file in allowed_roots"
        }
        "file.row_ids" => {
            "set delta.enableRowTracking to false, then to true: files without row ids get new ones"
        }
        "file.size" => "restore the file: it is not the one that was committed",
        "file.orphan" => "vacuum() deletes it once it is older than the retention period",
        _ if path.contains(".checkpoint.") || path.starts_with(SIDECAR_DIRECTORY) => rewrite,
        _ if path.ends_with(".compacted.json") => {
            "delete the compacted file: its commits still exist; compact_log() writes it again"
        }
        "commit.empty" | "commit.torn" | "log.gap" | "log.truncated" => {
            "restore the commit from a backup or another replica; until then no version that needs it can be trusted"
        }
        "checksum.mismatch" | "checksum.unreadable" => {
            "delete the checksum and write it again with write_checksum(), once the log is known to be right"
        }
        "data.encrypted" => {
            "read the file with an engine that has the keys, and write its rows again without encryption"
        }
        "protocol.dependency" => "add the missing feature with add_feature()",
        _ if code.starts_with("hint.") => {
            "write the hint again with checkpoint(), or delete it: readers list the log without it"
        }
        _ if code.starts_with("checkpoint.") => rewrite,
        _ if code.starts_with("dv.") => {
            "restore the file of the deletion vector; without it deleted rows look like live ones"
        }
        "protocol.malformed" | "protocol.empty_lists" => {
            "commit a valid protocol with the client that wrote this one"
        }
        _ if code.starts_with("protocol.") => {
            "read and write the table with a client that supports the feature"
        }
        _ if code.starts_with("commit.") => {
            "ask the writer of the commit: readers may disagree about the version; restore() returns to an earlier one"
        }
        _ => "restore the file from a backup or another replica",
    }
}
