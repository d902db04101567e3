//! The rows of the newest version: whether a scan gives every one of them.

use super::findings::{Findings, Severity};
use crate::error::Result;
use crate::replay::Source;
use crate::scan::{Scan, ScanOptions};
use crate::snapshot::Snapshot;

/// Reads all live files to their ends; what a scan refuses is named by its file.
pub(super) fn check(source: &Source, snapshot: &Snapshot, findings: &mut Findings) -> Result<()> {
    let options = ScanOptions {
        skip_errors: true,
        ..ScanOptions::default()
    };
    let scan = Scan::new(source, snapshot, options)?;
    for batch in scan.rows()? {
        batch?;
    }
    // a file that is gone, or too short, is known already
    let known = findings.wrong_files();
    for file in scan.skipped() {
        if !known.contains(&file.path) {
            let place = (Some(file.path.as_str()), Some(snapshot.version()));
            findings.add(Severity::Error, file.code, place, file.message);
        }
    }
    Ok(())
}
