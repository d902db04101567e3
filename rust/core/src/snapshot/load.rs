//! Loads a version of a table from its log: hint, listing, segment, protocol and metadata.
//!
//! Reads the hint and lists the log once, then reads the checksum and the newest commit in parallel; reads
//! the tail and the checkpoint only if the checksum does not suffice. Decodes no `add`.

use std::sync::Arc;

use bytes::Bytes;

use super::cache::ReplayCache;
use super::recover::{missing_sidecar, pass_over};
use super::state::{definition_of, read_state};
use super::verify::check_definition;
use super::{Checksum, Inner, Snapshot, TableDefinition, refused};
use crate::codec::commit::{ActionBatch, ActionDecoder, ActionSelection};
use crate::codec::version_checksum::{MAX_CHECKSUM_BYTES, VersionChecksum};
use crate::error::{Error, ErrorKind, Result};
use crate::log::commit::{WHOLE_FILE, decode_file};
use crate::log::hint::Hint;
use crate::log::history::required_in_commit_timestamp;
use crate::log::{Avoid, CheckpointInstance, LogListing, LogSegment, LogWarning};
use crate::replay::{Source, decode_tail, heads};
use crate::storage::{
    CachedStorage, FileMeta, PendingRange, check_complete, check_size, in_background,
};

/// A listing begins this many versions before the hint's, so that modification times are adjusted to ascend
/// as in delta-spark.
const LOOK_BACK: u64 = 100;

/// The maximum size of the commits after the checkpoint that are fetched ahead, in bytes.
const TAIL_BYTES: u64 = 8 << 20;
/// The maximum number of bytes of a checkpoint that are fetched before a listing confirms it.
const MAX_EARLY: u64 = 1 << 20;

/// Loads version `target`, or the newest one.
///
/// # Errors
///
/// `table.not_found`, `version.not_found`; Unsupported with all missing features; Corrupt with the file if
/// the version cannot be reconstructed.
pub fn load(source: &Source, target: Option<u64>, strict: bool) -> Result<Snapshot> {
    load_ahead(source, target, strict, false)
}

/// Loads a version whose files will probably be read, too: with `tail`, the commits after the checkpoint
/// are fetched together with the newest one.
///
/// # Errors
///
/// As [`load`].
pub fn load_ahead(
    source: &Source,
    target: Option<u64>,
    strict: bool,
    tail: bool,
) -> Result<Snapshot> {
    // the listing of a known table begins at its version, while the hint is read
    let begin = source
        .storage
        .log_cache()
        .and_then(CachedStorage::listing_start);
    let begin = begin.filter(|begin| {
        let last_version = begin.saturating_add(LOOK_BACK);
        target.is_none_or(|target| *begin == 0 || last_version <= target)
    });
    let ahead = begin.map(|begin| {
        let listing = in_background(&source.storage, move |storage| {
            LogListing::read(&**storage, begin)
        });
        (begin, listing)
    });
    let hint = Hint::read(&*source.storage)?;
    let hinted = hint.version();
    let usable = hinted.filter(|version| target.is_none_or(|target| *version <= target));
    let from = usable.map_or(0, |version| version.saturating_sub(LOOK_BACK));
    let ahead_of_listing = hint.checkpoint().filter(|_| usable.is_some());
    let early = ahead_of_listing.and_then(|checkpoint| fetch_head(source, &checkpoint));
    let listing = match ahead {
        Some((begin, listing)) if begin == from => {
            // a hint may be newer than a listing that began before it was read
            let listing = listing.wait()?;
            let is_listed = |hint: u64| listing.checkpoints.iter().any(|it| it.version == hint);
            let fits = target.is_some() || hinted.is_none_or(is_listed);
            fits.then_some(listing)
        }
        _ => None,
    };
    let mut listing = match listing {
        Some(listing) => listing,
        None => LogListing::read(&*source.storage, from)?,
    };
    if target.is_none()
        && let Some(cache) = source.storage.log_cache()
    {
        cache.set_listing_start(from);
    }
    let mut avoid = Avoid::default();
    let mut passed_over = Vec::new();
    let mut first: Option<Error> = None;
    loop {
        let segment = match LogSegment::choose(&listing, target, &avoid) {
            Ok(segment) => segment,
            Err(_) if listing.from > 0 => {
                listing = LogListing::read(&*source.storage, 0)?;
                continue;
            }
            Err(error) => return Err(first.unwrap_or(error)),
        };
        let mut warnings = passed_over.clone();
        warnings.extend(segment.warnings.iter().cloned());
        if target.is_none() {
            warnings.extend(hint.check(&segment));
        }
        prefetch_opened(source, &segment, early.as_ref(), tail);
        let error = match open(source, segment.clone(), warnings, strict) {
            Ok(snapshot) => return Ok(snapshot),
            Err(error) => missing_sidecar(error),
        };
        let Some(warning) = pass_over(&error, &segment, &mut avoid).filter(|_| !strict) else {
            return Err(first.unwrap_or(error));
        };
        first.get_or_insert(error);
        passed_over.push(warning);
    }
}

/// Returns the newest version that this process knows, if it can be opened without a request; the table may
/// have a later one.
pub fn cached_snapshot(source: &Source) -> Option<Snapshot> {
    let cache = source.storage.log_cache()?;
    let begin = cache.listing_start()?;
    let first = format!("{begin:020}.");
    let files = cache.files(if begin == 0 { "" } else { &first });
    let listing = LogListing::of(files, begin);
    let segment = LogSegment::choose(&listing, None, &Avoid::default()).ok()?;
    let (commit, checksum) = segment
        .last_commit
        .as_ref()
        .zip(segment.checksum.as_ref())?;
    if !cache.has(&commit.path) || !cache.has(&checksum.path) {
        return None;
    }
    open(source, segment, Vec::new(), false).ok()
}

fn open(
    source: &Source,
    segment: LogSegment,
    mut warnings: Vec<LogWarning>,
    strict: bool,
) -> Result<Snapshot> {
    let version = segment.version;
    let located = |error: Error| error.at_version(version);
    warnings.extend(empty_commits(&segment));
    let (commit, summary) = read_newest(source, &segment);
    let newest = newest_commit(source, &segment, commit).map_err(located)?;
    let mut checksum = parsed_checksum(&segment, summary, &mut warnings)?;
    if let Some(Err(error)) = checksum
        .as_ref()
        .map(|checksum| check_definition(checksum, &newest))
    {
        let message = format!(
            "the checksum was ignored, since the commit differs: {}",
            error.message()
        );
        let path = segment
            .checksum
            .as_ref()
            .map(|file| file.path.clone())
            .unwrap_or_default();
        warnings.push(LogWarning::new(error.code(), path, Some(version), message));
        checksum = None;
    }
    let known = checksum
        .as_ref()
        .filter(|checksum| checksum.answers)
        .and_then(|checksum| {
            Some((
                checksum.values.protocol.clone()?,
                checksum.values.metadata.clone()?,
            ))
        });
    let mut state = None;
    let mut definition = None;
    if let Some((protocol, metadata)) = known {
        match TableDefinition::new(source, protocol, metadata, &mut warnings) {
            Ok(known) => definition = Some(known),
            // the log decides whether the table or the checksum is wrong
            Err(error) => {
                warnings.extend(segment.checksum.as_ref().map(|file| {
                    let message = format!("the version checksum was ignored: {error}");
                    let path = file.path.clone();
                    LogWarning::new("checksum.unreadable", path, Some(version), message)
                }));
                checksum = None;
            }
        }
    }
    let definition = match definition {
        Some(known) => known,
        None => {
            let log_state = read_state(source, &segment).map_err(located)?;
            let (protocol, metadata) = definition_of(&log_state, &segment)?;
            state = Some(Arc::new(log_state));
            TableDefinition::new(source, protocol, metadata, &mut warnings)
                .map_err(|error| defined_in(source, &segment, error))
                .map_err(located)?
        }
    };
    let in_commit_timestamp = in_commit_time(&definition, &segment, &newest, checksum.as_ref())?;
    if let Some(warning) = warnings.first().filter(|_| strict) {
        let error = refused(warning);
        let by_checksum = checksum.as_ref().filter(|_| state.is_none());
        return Err(match (error.path(), by_checksum) {
            (Some(_), _) => error,
            (None, Some(checksum)) => error.at_path(checksum.path.clone()),
            (None, None) => defined_in(source, &segment, error),
        });
    }
    Ok(Snapshot(Arc::new(Inner {
        version,
        strict,
        timestamp: in_commit_timestamp.unwrap_or(segment.file_timestamp),
        in_commit_timestamp,
        definition: Arc::new(definition),
        checksum,
        cache: ReplayCache::new(segment, warnings, None, state),
    })))
}

/// Starts to fetch the range with which the hint's checkpoint is opened, before a listing confirms it.
fn fetch_head(source: &Source, checkpoint: &CheckpointInstance) -> Option<PendingRange> {
    let cache = source.storage.log_cache()?;
    let (path, range) = heads(checkpoint).into_iter().next()?;
    let range = range.unwrap_or(0..checkpoint.files.first()?.size);
    // the hint may claim any size, and nothing else limits what is fetched before the listing
    let is_small = range.end - range.start <= MAX_EARLY;
    is_small.then(|| cache.fetch_early(&path, range)).flatten()
}

/// Starts to fetch the first range of the checkpoint, and commits after it.
fn prefetch_opened(
    source: &Source,
    segment: &LogSegment,
    early: Option<&PendingRange>,
    tail: bool,
) {
    let Some(cache) = source.storage.log_cache() else {
        return;
    };
    let mut ranges = segment.checkpoint.as_ref().map_or_else(Vec::new, heads);
    if tail {
        let mut bytes = 0;
        let ahead = segment.tail.iter().take_while(|file| {
            bytes = u64::saturating_add(bytes, file.file.size);
            bytes <= TAIL_BYTES
        });
        let ahead = ahead.take(source.storage.max_requests().map_or(0, tail_requests));
        ranges.extend(ahead.map(|file| (file.file.path.clone(), None)));
    }
    cache.prefetch_after(&ranges, early);
}

/// Returns the number of commits to fetch together with the newest one, so that it, its checksum and the
/// checkpoint are not delayed.
fn tail_requests(max_requests: usize) -> usize {
    max_requests - max_requests / 8 - 1
}

type Content = Option<Result<Bytes>>;

/// Requests the version's own commit and its checksum at once. A commit that is read in pieces is omitted.
fn read_newest(source: &Source, segment: &LogSegment) -> (Content, Content) {
    let commit = segment.last_commit.as_ref();
    let commit = commit.filter(|file| file.size <= WHOLE_FILE);
    let within = |file: &&FileMeta| file.size <= MAX_CHECKSUM_BYTES;
    let checksum = segment.checksum.as_ref();
    let files = [commit, checksum.filter(within)];
    let paths: Vec<&str> = files.iter().flatten().map(|it| it.path.as_str()).collect();
    let mut read = source.storage.read_many(&paths).into_iter();
    let [commit, checksum_content] = files.map(|file| {
        let bytes = file.and_then(|_| read.next())?;
        Some(bytes.and_then(|bytes| {
            let file = file.map_or(("", 0), |file| (file.path.as_str(), file.size));
            check_complete(file.0, bytes.len(), file.1)?;
            Ok(bytes)
        }))
    });
    let refused = checksum.filter(|file| !within(file)).and_then(|file| {
        check_size(&file.path, file.size, MAX_CHECKSUM_BYTES)
            .err()
            .map(Err)
    });
    (commit, checksum_content.or(refused))
}

/// Decodes the version's own commit: a torn one is detected before anything about the version is returned.
fn newest_commit(source: &Source, segment: &LogSegment, read: Content) -> Result<ActionBatch> {
    let Some(file) = &segment.last_commit else {
        return Ok(ActionBatch::default());
    };
    let mut decoder = ActionDecoder::new(ActionSelection {
        control: true,
        commit_infos: true,
        ..ActionSelection::default()
    });
    match read {
        Some(bytes) => {
            let located = |error: Error| error.at_path(&*file.path).at_version(segment.version);
            decoder.decode(&bytes.map_err(located)?).map_err(located)?;
        }
        None => decode_file(&*source.storage, file, segment.version, &mut decoder)?,
    }
    decoder.finish()
}

pub(super) fn empty_commits(segment: &LogSegment) -> Vec<LogWarning> {
    let empty = segment
        .commits
        .iter()
        .filter(|commit| commit.file.size == 0);
    let warning = |path: &str, version| {
        let message = "the commit is empty and was read as a version without actions: if a write was \
            interrupted, its changes are lost; restore the file";
        LogWarning::new("commit.empty", path, Some(version), message)
    };
    empty
        .map(|commit| warning(&commit.file.path, commit.version))
        .collect()
}

/// Reads the version's checksum; one that does not decode is skipped with a warning.
pub(super) fn read_checksum(
    source: &Source,
    segment: &LogSegment,
    warnings: &mut Vec<LogWarning>,
) -> Result<Option<Checksum>> {
    let read = segment
        .checksum
        .as_ref()
        .map(|file| source.storage.read_at_most(&file.path, MAX_CHECKSUM_BYTES));
    parsed_checksum(segment, read, warnings)
}

fn parsed_checksum(
    segment: &LogSegment,
    read: Content,
    warnings: &mut Vec<LogWarning>,
) -> Result<Option<Checksum>> {
    let (Some(file), Some(read)) = (&segment.checksum, read) else {
        return Ok(None);
    };
    let parsed = match read {
        Ok(bytes) => VersionChecksum::parse(&bytes),
        Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
        Err(error) => Err(error),
    };
    match parsed {
        Ok(values) => {
            let answers = !segment.commits.iter().any(|commit| commit.file.size == 0);
            Ok(Some(Checksum {
                path: file.path.clone(),
                values,
                answers,
            }))
        }
        Err(error) => {
            let message = format!("the version checksum was ignored: {error}");
            warnings.push(LogWarning::new(
                "checksum.unreadable",
                file.path.clone(),
                Some(segment.version),
                message,
            ));
            Ok(None)
        }
    }
}

/// Adds the file with the invalid protocol or metadata to an error: the newest that has one.
fn defined_in(source: &Source, segment: &LogSegment, error: Error) -> Error {
    let selection = ActionSelection {
        control: true,
        ..ActionSelection::default()
    };
    let of_protocol = error.code().starts_with("protocol.");
    for file in segment.tail.iter().rev() {
        let Ok(batches) = decode_tail(&source.storage, std::slice::from_ref(file), &selection)
        else {
            continue;
        };
        let defines = |batch: &ActionBatch| match of_protocol {
            true => !batch.protocols.is_empty(),
            false => !batch.metadatas.is_empty(),
        };
        if batches.iter().any(defines) {
            return error.at_path(file.file.path.clone());
        }
    }
    match &segment.checkpoint {
        Some(checkpoint) => error.at_path(checkpoint.path().to_owned()),
        None => error,
    }
}

/// Returns the commit's own timestamp, if the table has in-commit timestamps.
fn in_commit_time(
    definition: &TableDefinition,
    segment: &LogSegment,
    newest: &ActionBatch,
    checksum: Option<&Checksum>,
) -> Result<Option<i64>> {
    if !definition.in_commit_timestamps_at(segment.version) {
        return Ok(None);
    }
    if let Some(known) = checksum.and_then(|checksum| checksum.values.in_commit_timestamp) {
        return Ok(Some(known));
    }
    let Some(commit) = &segment.last_commit else {
        return Ok(None);
    };
    required_in_commit_timestamp(newest.commit_info(), commit, segment.version).map(Some)
}
