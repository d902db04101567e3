//! Loads a version of a table from its log: hint (`_last_checkpoint`), listing, segment, protocol, metadata.
//!
//! Reads the hint and lists the log, then reads the version's commit and checksum in parallel; reads
//! the tail and the checkpoint only if the checksum does not suffice. Decodes no `add`.

use std::sync::Arc;

use bytes::Bytes;

use super::cache::ReplayCache;
use super::checksum_match::check_definition;
use super::recover::{avoid_unreadable, missing_sidecar};
use super::state::{definition_of, read_state};
use super::{Checksum, Inner, Snapshot, TableDefinition, strict_error};
use crate::codec::commit::{ActionBatch, ActionDecoder, ActionSelection};
use crate::codec::version_checksum::{MAX_CHECKSUM_BYTES, VersionChecksum};
use crate::error::{Error, ErrorKind, Result};
use crate::log::commit::{MAX_WHOLE_FILE_BYTES, decode_file};
use crate::log::hint::Hint;
use crate::log::history::required_in_commit_timestamp;
use crate::log::{CheckpointInstance, LogListing, LogSegment, LogWarning, UnreadableFiles};
use crate::replay::{Source, decode_tail, opening_ranges};
use crate::storage::{CachedStorage, PendingRange, check_complete, check_size, in_background};

/// A listing begins this many versions before the hint's, so that modification times are adjusted to ascend
/// as in delta-spark.
const LOOK_BACK: u64 = 100;

/// The maximum size of the commits after the checkpoint that are fetched ahead, in bytes.
const MAX_TAIL_BYTES: u64 = 8 << 20;
/// The maximum number of bytes of a checkpoint that are fetched before a listing confirms it.
const MAX_EARLY_BYTES: u64 = 1 << 20;

/// Loads version `target`, or the newest one.
///
/// # Errors
///
/// `table.not_found`, `version.not_found`; Corrupt with the file if the version cannot be
/// reconstructed, or, if `strict`, with the code of its first warning.
pub fn load(source: &Source, target: Option<u64>, strict: bool) -> Result<Snapshot> {
    load_prefetching(source, target, strict, false)
}

/// Loads a version as [`load`]. With `prefetch_tail`, for a caller that will probably read its files, the
/// commits after the checkpoint are fetched together with the version's own.
pub fn load_prefetching(
    source: &Source,
    target: Option<u64>,
    strict: bool,
    prefetch_tail: bool,
) -> Result<Snapshot> {
    let (hint, mut listing, early) = read_hint_and_listing(source, target)?;
    let mut unreadable = UnreadableFiles::default();
    let mut fallback_warnings = Vec::new();
    let mut first_error: Option<Error> = None;
    loop {
        let segment = match LogSegment::choose(&listing, target, &unreadable) {
            Ok(segment) => segment,
            Err(_) if listing.from > 0 => {
                listing = LogListing::read(&*source.storage, 0)?;
                continue;
            }
            Err(error) => return Err(first_error.unwrap_or(error)),
        };
        let mut warnings = fallback_warnings.clone();
        warnings.extend(segment.warnings.iter().cloned());
        if target.is_none() {
            warnings.extend(hint.check(&segment));
        }
        prefetch_opening(source, &segment, early.as_ref(), prefetch_tail);
        let error = match open(source, segment.clone(), warnings, strict) {
            Ok(snapshot) => return Ok(snapshot),
            Err(error) => missing_sidecar(error),
        };
        let Some(warning) = avoid_unreadable(&error, &segment, &mut unreadable).filter(|_| !strict)
        else {
            return Err(first_error.unwrap_or(error));
        };
        first_error.get_or_insert(error);
        fallback_warnings.push(warning);
    }
}

/// Reads the hint and lists the log; also starts to fetch the hint's checkpoint, by [`fetch_early`].
fn read_hint_and_listing(
    source: &Source,
    target: Option<u64>,
) -> Result<(Hint, LogListing, Option<PendingRange>)> {
    // a known table is listed while the hint is read, from where its last listing began
    let begin = source
        .storage
        .log_cache()
        .and_then(CachedStorage::listing_start);
    let begin = begin.filter(|begin| {
        let last_hint = begin.saturating_add(LOOK_BACK);
        target.is_none_or(|target| *begin == 0 || last_hint <= target)
    });
    let pending = begin.map(|begin| {
        let listing = in_background(&source.storage, move |storage| {
            LogListing::read(&**storage, begin)
        });
        (begin, listing)
    });
    let hint = Hint::read(&*source.storage)?;
    let hinted = hint.version();
    let usable = hinted.filter(|version| target.is_none_or(|target| *version <= target));
    let from = usable.map_or(0, |version| version.saturating_sub(LOOK_BACK));
    let checkpoint = usable.and_then(|_| hint.checkpoint());
    let early = checkpoint.and_then(|checkpoint| fetch_early(source, &checkpoint));
    let listing = match pending {
        Some((begin, listing)) if begin == from => {
            // a hint may be newer than a listing that began before it was read
            let listing = listing.wait()?;
            let is_listed = |hint: u64| {
                listing
                    .checkpoints
                    .iter()
                    .any(|known| known.version == hint)
            };
            let is_current = target.is_some() || hinted.is_none_or(is_listed);
            is_current.then_some(listing)
        }
        _ => None,
    };
    let listing = match listing {
        Some(listing) => listing,
        None => LogListing::read(&*source.storage, from)?,
    };
    if target.is_none()
        && let Some(cache) = source.storage.log_cache()
    {
        cache.set_listing_start(from);
    }
    Ok((hint, listing, early))
}

/// Returns the newest version that this process knows, if its commit and its checksum are cached; the table
/// may have a later one.
pub fn cached_snapshot(source: &Source) -> Option<Snapshot> {
    let cache = source.storage.log_cache()?;
    let begin = cache.listing_start()?;
    let first = format!("{begin:020}.");
    let files = cache.files(if begin == 0 { "" } else { &first });
    let listing = LogListing::of(files, begin);
    let segment = LogSegment::choose(&listing, None, &UnreadableFiles::default()).ok()?;
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
    let (commit, checksum) = read_commit_and_checksum(source, &segment);
    let decoded = decode_commit(source, &segment, commit).map_err(located)?;
    let mut checksum = parsed_checksum(&segment, checksum, &mut warnings)?;
    if let Some(stored) = &checksum
        && let Err(error) = check_definition(stored, &decoded)
    {
        let message = format!(
            "the checksum was ignored, since the commit differs: {}",
            error.message()
        );
        let path = stored.path.clone();
        warnings.push(LogWarning::new(error.code(), path, Some(version), message));
        checksum = None;
    }
    let mut state = None;
    let mut definition = None;
    if let Some(Checksum { path, values, .. }) = checksum.as_ref().filter(|known| known.is_trusted)
        && let (Some(protocol), Some(metadata)) = (values.protocol.clone(), values.metadata.clone())
    {
        match TableDefinition::new(source, protocol, metadata, &mut warnings) {
            Ok(parsed) => definition = Some(parsed),
            // the log decides whether the table or the checksum is wrong
            Err(error) => {
                warnings.push(unreadable_checksum(path, version, &error));
                checksum = None;
            }
        }
    }
    let definition = match definition {
        Some(definition) => definition,
        None => {
            let log_state = read_state(source, &segment).map_err(located)?;
            let (protocol, metadata) = definition_of(&log_state, &segment)?;
            state = Some(Arc::new(log_state));
            TableDefinition::new(source, protocol, metadata, &mut warnings)
                .map_err(|error| at_definition(source, &segment, error))
                .map_err(located)?
        }
    };
    let commit_info = decoded.commit_info();
    let in_commit_timestamp =
        in_commit_timestamp(&definition, &segment, commit_info, checksum.as_ref())?;
    if let Some(warning) = warnings.first().filter(|_| strict) {
        let error = strict_error(warning);
        let defining_checksum = checksum.as_ref().filter(|_| state.is_none());
        return Err(match (error.path(), defining_checksum) {
            (Some(_), _) => error,
            (None, Some(checksum)) => error.at_path(checksum.path.clone()),
            (None, None) => at_definition(source, &segment, error),
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

/// Starts to fetch the first range with which the hint's checkpoint is opened, before a listing confirms it.
fn fetch_early(source: &Source, checkpoint: &CheckpointInstance) -> Option<PendingRange> {
    let cache = source.storage.log_cache()?;
    let (path, range) = opening_ranges(checkpoint).into_iter().next()?;
    let range = range.unwrap_or(0..checkpoint.files.first()?.size);
    // the hint may claim any size, and nothing else limits the range fetched before the listing
    let is_small = range.end - range.start <= MAX_EARLY_BYTES;
    is_small.then(|| cache.fetch_early(&path, range)).flatten()
}

/// Starts to fetch the ranges with which the checkpoint is opened, except the range that `early` requested;
/// with `tail`, also the commits after the checkpoint.
fn prefetch_opening(
    source: &Source,
    segment: &LogSegment,
    early: Option<&PendingRange>,
    tail: bool,
) {
    let Some(cache) = source.storage.log_cache() else {
        return;
    };
    let mut ranges = segment
        .checkpoint
        .as_ref()
        .map_or_else(Vec::new, opening_ranges);
    if tail {
        let mut bytes = 0;
        let ahead = segment.tail.iter().take_while(|file| {
            bytes = u64::saturating_add(bytes, file.file.size);
            bytes <= MAX_TAIL_BYTES
        });
        let ahead = ahead.take(source.storage.max_requests().map_or(0, tail_requests));
        ranges.extend(ahead.map(|file| (file.file.path.clone(), None)));
    }
    cache.prefetch_after(&ranges, early);
}

/// Returns the number of commits to fetch together with the version's own. The other requests are left for
/// that commit, the checksum and the checkpoint, which must not be delayed.
fn tail_requests(max_requests: usize) -> usize {
    max_requests - max_requests / 8 - 1
}

/// The bytes of a file; `None` if there is no such file, or if it is read in pieces.
type Content = Option<Result<Bytes>>;

/// Requests the version's own commit and its checksum at once. A commit that is read in pieces is omitted.
fn read_commit_and_checksum(source: &Source, segment: &LogSegment) -> (Content, Content) {
    let commit = segment.last_commit.as_ref();
    let commit = commit.filter(|file| file.size <= MAX_WHOLE_FILE_BYTES);
    let checksum = segment.checksum.as_ref();
    let too_large =
        checksum.and_then(|file| check_size(&file.path, file.size, MAX_CHECKSUM_BYTES).err());
    let files = [commit, checksum.filter(|_| too_large.is_none())];
    let paths: Vec<&str> = files
        .iter()
        .flatten()
        .map(|file| file.path.as_str())
        .collect();
    let mut contents = source.storage.read_many(&paths).into_iter();
    let [commit, checksum] = files.map(|file| {
        let file = file?;
        Some(contents.next()?.and_then(|bytes| {
            check_complete(&file.path, bytes.len(), file.size)?;
            Ok(bytes)
        }))
    });
    (commit, too_large.map(Err).or(checksum))
}

/// Decodes the version's own commit, so that a torn one is detected before the version is opened.
fn decode_commit(source: &Source, segment: &LogSegment, content: Content) -> Result<ActionBatch> {
    let Some(file) = &segment.last_commit else {
        return Ok(ActionBatch::default());
    };
    let mut decoder = ActionDecoder::new(ActionSelection {
        control: true,
        commit_infos: true,
        ..ActionSelection::default()
    });
    match content {
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

/// Reads the version's checksum; one that cannot be read or parsed is ignored with a warning.
pub(super) fn read_checksum(
    source: &Source,
    segment: &LogSegment,
    warnings: &mut Vec<LogWarning>,
) -> Result<Option<Checksum>> {
    let content = segment
        .checksum
        .as_ref()
        .map(|file| source.storage.read_at_most(&file.path, MAX_CHECKSUM_BYTES));
    parsed_checksum(segment, content, warnings)
}

fn parsed_checksum(
    segment: &LogSegment,
    content: Content,
    warnings: &mut Vec<LogWarning>,
) -> Result<Option<Checksum>> {
    let (Some(file), Some(content)) = (&segment.checksum, content) else {
        return Ok(None);
    };
    match content.and_then(|bytes| VersionChecksum::parse(&bytes)) {
        Ok(values) => {
            let is_trusted = !segment.commits.iter().any(|commit| commit.file.size == 0);
            Ok(Some(Checksum {
                path: file.path.clone(),
                values,
                is_trusted,
            }))
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        Err(error) => {
            warnings.push(unreadable_checksum(&file.path, segment.version, &error));
            Ok(None)
        }
    }
}

fn unreadable_checksum(path: &str, version: u64, error: &Error) -> LogWarning {
    let message = format!("the version checksum was ignored: {error}");
    LogWarning::new("checksum.unreadable", path, Some(version), message)
}

/// Adds a path to an error about the protocol or the metadata: the newest file with such an action.
fn at_definition(source: &Source, segment: &LogSegment, error: Error) -> Error {
    let selection = ActionSelection {
        control: true,
        ..ActionSelection::default()
    };
    let is_protocol = error.code().starts_with("protocol.");
    for file in segment.tail.iter().rev() {
        let Ok(batches) = decode_tail(&source.storage, std::slice::from_ref(file), &selection)
        else {
            continue;
        };
        let defines = |batch: &ActionBatch| match is_protocol {
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

/// Returns the in-commit timestamp, if the table has them; `commit_info` is that of the version's own commit.
pub(super) fn in_commit_timestamp(
    definition: &TableDefinition,
    segment: &LogSegment,
    commit_info: Option<&str>,
    checksum: Option<&Checksum>,
) -> Result<Option<i64>> {
    if !definition.in_commit_timestamps_at(segment.version) {
        return Ok(None);
    }
    if let Some(checksum) = checksum
        && let Some(timestamp) = checksum.values.in_commit_timestamp
    {
        return Ok(Some(timestamp));
    }
    let Some(commit) = &segment.last_commit else {
        return Ok(None);
    };
    required_in_commit_timestamp(commit_info, commit, segment.version).map(Some)
}
