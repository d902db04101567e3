//! Verification: checks the log and data files against the protocol, and against each other.
//!
//! The commits are replayed forwards, once. Each is checked individually; the resulting state is compared with
//! every checksum, checkpoint and compacted file, and finally with the data files that exist. Nothing is
//! changed, and a fault does not end the remaining checks.

use serde::Serialize;

use crate::error::Result;
use crate::log::LogListing;
use crate::log::path::SIDECAR_DIRECTORY;
use crate::log::segment::missing_table;
use crate::replay::Source;
use crate::scan::Split;
use crate::snapshot::load::load;
use crate::storage::in_background;
use crate::table::Table;

mod checkpoints;
mod commit;
mod files;
mod findings;
mod history;
mod rows;
mod state;

pub use findings::{Finding, PartFindings, Severity};

use findings::Findings;
use history::History;

/// The result of a verification: what was checked, and the findings.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// The newest version.
    pub version: u64,
    /// Commits, including those that cannot be read.
    pub num_commits: u64,
    /// Complete checkpoints, including those that cannot be read.
    pub num_checkpoints: u64,
    /// Checksums that were compared.
    pub num_checksums: u64,
    /// Live files of the newest version, if it can be opened.
    pub num_files: Option<u64>,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// The number of findings that are not listed because of the limit per code.
    pub omitted: u64,
}

impl Table {
    /// Verifies the log, and the data files and their rows if requested.
    ///
    /// # Errors
    ///
    /// As [`verify`].
    pub fn verify(&self, data_files: bool, rows: bool) -> Result<Verification> {
        verify(self.source(), data_files, rows).map_err(|error| self.with_uri(error))
    }
}

/// Reads all rows of a split of a scan that skips unreadable files.
///
/// # Errors
///
/// Interrupted. Faults are findings, not errors.
pub fn verify_split(source: &Source, version: u64, split: &Split) -> Result<PartFindings> {
    let mut findings = Findings::default();
    rows::check_split(source, version, split, &mut findings)?;
    Ok(findings.part())
}

/// Checks the log; the data files, and their rows, only on request.
///
/// # Errors
///
/// `table.not_found`; a storage error if the log cannot be listed; Interrupted. Faults are findings, not
/// errors.
pub fn verify(source: &Source, data_files: bool, rows: bool) -> Result<Verification> {
    let storage = &source.storage;
    let sidecars = in_background(storage, |storage| storage.list(SIDECAR_DIRECTORY, ""));
    let files = LogListing::files(&*source.storage, 0)?;
    let log_paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let listing = LogListing::of(files, 0);
    let mut findings = Findings::default();
    let Some(newest) = listing.latest() else {
        return Err(load(source, None, false)
            .err()
            .unwrap_or_else(missing_table));
    };
    for warning in &listing.warnings {
        findings.warning(warning);
    }
    for path in &log_paths {
        files::report_link(source, path, &mut findings);
    }
    let mut history = History::new(source, &listing);
    history.replay(&mut findings)?;
    checkpoints::orphans(source, &listing, sidecars.wait()?, &mut findings)?;
    let mut num_files = None;
    let stored = data_files.then(|| in_background(storage, files::stored));
    match load(source, None, false) {
        Ok(snapshot) => {
            for warning in snapshot.warnings() {
                // other warnings are found by their causes
                if warning.code == "log.checkpoint_only" || warning.code.starts_with("hint.") {
                    findings.warning(&warning);
                }
            }
            let outcome = files::check(
                source,
                &snapshot,
                stored,
                &history.referenced,
                &mut findings,
            );
            num_files = findings.unless_interrupted(outcome)?;
            if rows {
                let outcome = rows::check(source, &snapshot, &mut findings);
                findings.unless_interrupted(outcome)?;
            }
        }
        Err(error) => findings.error(error)?,
    }
    Ok(Verification {
        version: newest,
        num_commits: history.num_commits,
        num_checkpoints: history.num_checkpoints,
        num_checksums: history.num_checksums,
        num_files,
        omitted: findings.omitted,
        findings: findings.finish(),
    })
}
