//! Reads the rows of the newest version and checks that a scan returns every one of them.

use super::findings::Findings;
use crate::error::Result;
use crate::replay::Source;
use crate::scan::{Scan, ScanOptions, SkippedFile, Split};
use crate::snapshot::Snapshot;

/// Reads all live files in full; reports each file that a scan refuses.
pub(super) fn check(source: &Source, snapshot: &Snapshot, findings: &mut Findings) -> Result<()> {
    let options = ScanOptions {
        skip_errors: true,
        ..ScanOptions::default()
    };
    let scan = Scan::new(source, snapshot, options)?;
    for batch in scan.rows()? {
        batch?;
    }
    report_skipped(scan.skipped(), snapshot.version(), findings);
    Ok(())
}

/// Reads the rows of one split in full: a part of [`check`] that another process can run.
pub(super) fn check_split(
    source: &Source,
    version: u64,
    split: &Split,
    findings: &mut Findings,
) -> Result<()> {
    for batch in split.rows(source)? {
        batch?;
    }
    report_skipped(split.skipped(), version, findings);
    Ok(())
}

fn report_skipped(skipped: Vec<SkippedFile>, version: u64, findings: &mut Findings) {
    // a missing or truncated file is reported already
    let reported = findings.files_with_errors();
    for file in skipped {
        if !reported.contains(&file.path) {
            let location = (Some(file.path.as_str()), Some(version));
            findings.fault(file.code, location, file.message);
        }
    }
}
