//! The data of a version that was read so far.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::segment_replay::Totals;
use crate::log::{LogSegment, LogWarning};
use crate::replay::{ActiveFiles, LogState};

/// The data that a snapshot has read so far: it only saves work, and never changes results.
#[derive(Debug)]
pub(super) struct ReplayCache(Mutex<Cached>);

#[derive(Debug)]
struct Cached {
    segment: Arc<LogSegment>,
    warnings: Vec<LogWarning>,
    files: Option<Arc<ActiveFiles>>,
    state: Option<Arc<LogState>>,
    totals: Option<Totals>,
    contradicted: bool,
    verified: bool,
}

impl ReplayCache {
    pub(super) fn new(
        segment: LogSegment,
        warnings: Vec<LogWarning>,
        files: Option<Arc<ActiveFiles>>,
        state: Option<Arc<LogState>>,
    ) -> Self {
        Self(Mutex::new(Cached {
            segment: Arc::new(segment),
            warnings,
            files,
            state,
            totals: None,
            contradicted: false,
            verified: false,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Cached> {
        // each value is replaced as a whole, so that a panic elsewhere cannot leave it inconsistent
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the log files that the version is replayed from.
    pub(super) fn segment(&self) -> Arc<LogSegment> {
        Arc::clone(&self.lock().segment)
    }

    /// Replaces a segment that has an unreadable file. The new segment is of the same version; `state` is its
    /// state.
    pub(super) fn replace_segment(&self, segment: LogSegment, state: Option<LogState>) {
        let mut cached = self.lock();
        cached.segment = Arc::new(segment);
        cached.state = state.map(Arc::new);
    }

    /// Returns the problems that were skipped.
    pub(super) fn warnings(&self) -> Vec<LogWarning> {
        self.lock().warnings.clone()
    }

    /// Adds a warning, once.
    pub(super) fn warn(&self, warning: LogWarning) {
        let warnings = &mut self.lock().warnings;
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Returns the live files with the columns requested so far.
    pub(super) fn files(&self) -> Option<Arc<ActiveFiles>> {
        self.lock().files.clone()
    }

    pub(super) fn keep_files(&self, files: ActiveFiles) -> Arc<ActiveFiles> {
        Arc::clone(self.lock().files.insert(Arc::new(files)))
    }

    /// Returns the number and the total size of the live files, if they were counted.
    pub(super) fn totals(&self) -> Option<Totals> {
        self.lock().totals
    }

    pub(super) fn keep_totals(&self, totals: Totals) {
        self.lock().totals = Some(totals);
    }

    /// Returns protocol, metadata, transactions and domains.
    pub(super) fn state(&self) -> Option<Arc<LogState>> {
        self.lock().state.clone()
    }

    /// Keeps the state, unless there is one.
    pub(super) fn keep_state(&self, state: LogState) -> Arc<LogState> {
        Arc::clone(self.lock().state.get_or_insert_with(|| Arc::new(state)))
    }

    /// Returns `true` if the log contradicts the checksum, which is then no longer used.
    pub(super) fn is_contradicted(&self) -> bool {
        self.lock().contradicted
    }

    pub(super) fn set_contradicted(&self) {
        self.lock().contradicted = true;
    }

    /// Returns `true` if the version was replayed completely and compared with its checksum.
    pub(super) fn is_verified(&self) -> bool {
        self.lock().verified
    }

    pub(super) fn set_verified(&self) {
        self.lock().verified = true;
    }
}
