//! Replays all commits, oldest first, and checks the checksums, checkpoints and compacted files of their
//! versions.

use std::collections::HashSet;

use super::checkpoints::{self, compare};
use super::commit::apply;
use super::findings::{Findings, Severity};
use super::state::{State, same_metadata, transactions_expire};
use crate::codec::version_checksum::{FileSizeHistogram, MAX_CHECKSUM_BYTES, VersionChecksum};
use crate::error::{Error, Result};
use crate::log::segment::gap;
use crate::log::{CheckpointInstance, LogListing, VersionedFile};
use crate::maintenance::vacuum::{collect_referenced, inside};
use crate::replay::{Source, opening_ranges};
use crate::storage::interrupt;
use crate::transaction::WholeCommit;

const AHEAD: usize = 64;

/// A replay of the commits, compared with the files derived from them.
pub(super) struct History<'a> {
    source: &'a Source,
    listing: &'a LogListing,
    /// Storage paths of every file that an action references.
    pub(super) referenced: HashSet<String>,
    pub(super) num_commits: u64,
    pub(super) num_checkpoints: u64,
    pub(super) num_checksums: u64,
    /// `None` if a file that it depends on is missing or cannot be read.
    state: Option<State>,
}

impl<'a> History<'a> {
    pub(super) fn new(source: &'a Source, listing: &'a LogListing) -> Self {
        Self {
            source,
            listing,
            referenced: HashSet::new(),
            num_commits: 0,
            num_checkpoints: 0,
            num_checksums: 0,
            state: None,
        }
    }

    pub(super) fn replay(&mut self, findings: &mut Findings) -> Result<()> {
        let commits = self.listing.commits.iter().map(|commit| commit.version);
        let checkpoints = self.listing.checkpoints.iter();
        let checkpoints = checkpoints.map(|checkpoint| checkpoint.version);
        let mut versions: Vec<u64> = commits.chain(checkpoints).collect();
        versions.sort_unstable();
        versions.dedup();
        let first_commit = self.listing.commits.first();
        if first_commit.is_some_and(|commit| commit.version == 0) {
            self.state = Some(State::default());
        }
        let mut next = None;
        for (number, version) in versions.iter().copied().enumerate() {
            interrupt::check()?;
            if number % AHEAD == 0 {
                let last = versions.get(number + AHEAD - 1).or(versions.last());
                self.prefetch(version, last.copied().unwrap_or(version));
            }
            if let Some(next) = next
                && next < version
            {
                self.state = None;
            }
            self.check_version(version, findings)?;
            next = version.checked_add(1);
        }
        self.report_gaps(findings)?;
        self.check_compacted(findings)
    }

    fn prefetch(&self, first: u64, last: u64) {
        let Some(cache) = self.source.storage.log_cache() else {
            return;
        };
        let listing = self.listing;
        let within = |version: u64| (first..=last).contains(&version);
        let files = listing.commits.iter().chain(&listing.checksums);
        let files = files.filter(|file| within(file.version));
        let mut paths: Vec<_> = files.map(|file| (file.file.path.clone(), None)).collect();
        let checkpoints = listing.checkpoints.iter();
        let checkpoints = checkpoints.filter(|checkpoint| within(checkpoint.version));
        paths.extend(checkpoints.flat_map(opening_ranges));
        cache.prefetch(&paths);
    }

    /// Reports missing commits between others.
    fn report_gaps(&self, findings: &mut Findings) -> Result<()> {
        for pair in self.listing.commits.windows(2) {
            let [earlier, later] = pair else { continue };
            for missing in (earlier.version + 1)..later.version {
                findings.error(gap(missing))?;
                if missing - earlier.version > 100 {
                    break; // a stray commit of a much later version
                }
            }
        }
        Ok(())
    }

    fn check_version(&mut self, version: u64, findings: &mut Findings) -> Result<()> {
        // listings are sorted by version
        let at = |list: &'a [VersionedFile]| {
            let index = list.binary_search_by_key(&version, |file| file.version);
            index.ok().and_then(|index| list.get(index))
        };
        if let Some(commit) = at(&self.listing.commits) {
            self.check_commit(commit, findings)?;
        }
        if let Some(checksum) = at(&self.listing.checksums) {
            self.check_checksum(checksum, findings)?;
        }
        let checkpoints = &self.listing.checkpoints;
        let first = checkpoints.partition_point(|checkpoint| checkpoint.version < version);
        for checkpoint in checkpoints.iter().skip(first) {
            if checkpoint.version > version {
                break;
            }
            self.check_checkpoint(checkpoint, findings)?;
        }
        Ok(())
    }

    fn check_commit(&mut self, commit: &VersionedFile, findings: &mut Findings) -> Result<()> {
        self.num_commits += 1;
        if commit.file.size == 0 {
            let location = (Some(commit.file.path.as_str()), Some(commit.version));
            let message = "the commit is empty: a write was interrupted, and its changes are lost";
            findings.fault("commit.empty", location, message);
            self.state = None;
            return Ok(());
        }
        let Some(read) =
            findings.unless_interrupted(WholeCommit::read(&*self.source.storage, commit))?
        else {
            self.state = None;
            return Ok(());
        };
        let collected = self.collect_referenced(&read);
        let located = |error: Error| error.at_path(&commit.file.path).at_version(commit.version);
        findings.unless_interrupted(collected.map_err(located))?;
        if let Some(state) = &mut self.state {
            let applied = apply(self.source, (commit, &read), state, findings);
            findings.unless_interrupted(applied)?;
        }
        Ok(())
    }

    fn collect_referenced(&mut self, commit: &WholeCommit) -> Result<()> {
        let actions = [&commit.actions.adds, &commit.actions.removes];
        for actions in actions.into_iter().flatten() {
            collect_referenced(self.source, &actions.rows, &mut self.referenced)?;
        }
        if let Some(cdcs) = &commit.actions.cdcs {
            let paths = cdcs.rows.column_by_name("path");
            let paths = paths.and_then(arrow_array::cast::AsArray::as_string_opt::<i32>);
            for path in paths.into_iter().flatten().flatten() {
                self.referenced.extend(inside(self.source, path)?);
            }
        }
        Ok(())
    }

    fn check_checksum(&mut self, file: &VersionedFile, findings: &mut Findings) -> Result<()> {
        let location = (Some(file.file.path.as_str()), Some(file.version));
        let storage = &self.source.storage;
        let read = storage.read_at_most(&file.file.path, MAX_CHECKSUM_BYTES);
        let checksum = match read.and_then(|bytes| VersionChecksum::parse(&bytes)) {
            Ok(checksum) => checksum,
            Err(error) => {
                let message = format!("the version checksum cannot be read: {}", error.message());
                findings.add(Severity::Warning, "checksum.unreadable", location, message);
                return Ok(());
            }
        };
        let Some(state) = &self.state else {
            return Ok(());
        };
        self.num_checksums += 1;
        let located = |error: Error| error.at_path(&file.file.path).at_version(file.version);
        let result = differences(self.source, &checksum, state).map_err(located);
        for difference in findings.unless_interrupted(result)?.unwrap_or_default() {
            let message = format!("the commits and the checksum disagree on {difference}");
            findings.fault("checksum.mismatch", location, message);
        }
        Ok(())
    }

    fn check_checkpoint(
        &mut self,
        checkpoint: &CheckpointInstance,
        findings: &mut Findings,
    ) -> Result<()> {
        self.num_checkpoints += 1;
        let read = checkpoints::read(self.source, checkpoint, &mut self.referenced, findings);
        let Some(read) = findings.unless_interrupted(read)? else {
            return Ok(());
        };
        match &self.state {
            Some(state) => compare(&read, state, checkpoint, findings),
            // earlier versions are lost or never existed: the state begins here
            None => self.state = Some(read.state),
        }
        Ok(())
    }

    fn check_compacted(&self, findings: &mut Findings) -> Result<()> {
        let expire = self.state.as_ref().is_none_or(transactions_expire);
        for file in &self.listing.compacted {
            let checked = checkpoints::compacted(self.source, self.listing, file, expire, findings);
            findings.unless_interrupted(checked)?;
        }
        Ok(())
    }
}

fn differences(source: &Source, checksum: &VersionChecksum, state: &State) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    if let Some(all) = &checksum.all_files {
        let rows = all.rows()?;
        let keys = source.keys.of_batch(&rows)?;
        let live = state.live.values().map(|live| live.key);
        let live: HashSet<_> = live.collect();
        let others = keys.iter().filter(|key| !live.contains(*key)).count();
        if others > 0 {
            faults.push(format!(
                "the list of files: {others} of the checksum are not live by the commits"
            ));
        }
    }
    let (vectors, deleted) = state.vectors();
    let (files, size) = (state.num_files(), state.size_in_bytes());
    let listed = checksum.all_files.as_ref().map(|all| all.count);
    for (name, expected, actual) in [
        ("number of files", checksum.num_files, files),
        ("total size", checksum.table_size_bytes, size),
        (
            "number of deleted rows",
            checksum.num_deleted_records,
            deleted,
        ),
        (
            "number of deletion vectors",
            checksum.num_deletion_vectors,
            vectors,
        ),
        ("list of files", listed, files),
    ] {
        if let Some(expected) = expected.filter(|expected| *expected != actual) {
            faults.push(format!(
                "the {name}: the checksum says {expected}, the commits give {actual}"
            ));
        }
    }
    if let Some(expected) = &checksum.file_size_histogram {
        let bins = expected.sorted_bin_boundaries.len();
        let mut actual = FileSizeHistogram {
            sorted_bin_boundaries: expected.sorted_bin_boundaries.clone(),
            file_counts: vec![0; bins],
            total_bytes: vec![0; bins],
        };
        for file in state.live.values() {
            actual.add(u64::try_from(file.size).unwrap_or(0));
        }
        if actual != *expected {
            faults.push("the histogram of file sizes".to_owned());
        }
    }
    if let (Some(expected), Some(actual)) = (&checksum.protocol, &state.log.protocol)
        && !expected.is_equivalent(actual)
    {
        faults.push("the protocol".to_owned());
    }
    if let (Some(expected), Some(actual)) = (&checksum.metadata, &state.log.metadata)
        && !same_metadata(expected, actual)
    {
        faults.push("the metadata".to_owned());
    }
    if let Some(expected) = &checksum.domain_metadata {
        let live = expected.iter().filter(|domain| !domain.removed);
        let mut live: Vec<_> = live.collect();
        live.sort_by(|left, right| left.domain.cmp(&right.domain));
        if !live.into_iter().eq(state.log.domains.values()) {
            faults.push("the domains".to_owned());
        }
    }
    if let Some(expected) = &checksum.set_transactions {
        let (actual, expire) = (&state.log.transactions, transactions_expire(state));
        // the checkpoint from which the state begins may lack those that have expired
        let are_known = expected
            .iter()
            .all(|txn| actual.get(&txn.app_id).map_or(expire, |known| known == txn));
        if !are_known || (expected.len() != actual.len() && !expire) {
            faults.push("the transactions".to_owned());
        }
    }
    if let (Some(expected), Some(actual)) = (checksum.in_commit_timestamp, state.timestamp)
        && expected != actual
    {
        faults.push(format!(
            "the in-commit timestamp: the checksum says {expected}, the commits give {actual}"
        ));
    }
    Ok(faults)
}
