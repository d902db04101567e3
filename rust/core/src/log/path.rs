//! Names of log files: parses a base name to its version and kind.
//!
//! Matches whole names only, so that hidden checksum files (`.<name>.crc`), temporary files and foreign
//! files in `_delta_log` are ignored.
//!
//! Protocol: "Delta Table Storage Format".

/// The directory of the log, relative to the table root.
pub const LOG_DIRECTORY: &str = "_delta_log";

/// The directory of commits that only the table's catalog can ratify, relative to the table root.
pub const STAGED_DIRECTORY: &str = "_delta_log/_staged_commits";

/// The directory of the sidecars, relative to the table root.
pub const SIDECAR_DIRECTORY: &str = "_delta_log/_sidecars";

/// The kind of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFileKind {
    /// `<v>.json`
    Commit,
    /// `<start>.<v>.compacted.json`
    Compacted {
        /// The first version that it contains.
        start: u64,
    },
    /// A checkpoint, or one part of it.
    Checkpoint(CheckpointName),
    /// `<v>.crc`
    Checksum,
}

/// The three forms of checkpoint names, in ascending order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointName {
    /// `<v>.checkpoint.parquet`; its content may be V1 or V2.
    Classic,
    /// `<v>.checkpoint.<part>.<parts>.parquet`
    Part {
        /// The number of parts.
        parts: u32,
        /// The number of the part, from 1.
        part: u32,
    },
    /// `<v>.checkpoint.<unique>.json` or `.parquet`: V2 content.
    Uuid {
        /// True for JSON lines, false for Parquet.
        json: bool,
    },
}

/// Parses the version and kind of a base name; `None` if no log file has such a name.
pub fn parse(name: &str) -> Option<(u64, LogFileKind)> {
    let (version, rest) = name.split_once('.')?;
    let version = version_of(version)?;
    let kind = match rest {
        "json" => LogFileKind::Commit,
        "crc" => LogFileKind::Checksum,
        _ => {
            if let Some(end) = rest.strip_suffix(".compacted.json") {
                let end = version_of(end).filter(|end| *end > version)?;
                return Some((end, LogFileKind::Compacted { start: version }));
            }
            LogFileKind::Checkpoint(checkpoint(rest.strip_prefix("checkpoint.")?)?)
        }
    };
    Some((version, kind))
}

/// Parses the part of a checkpoint's name after `checkpoint.`.
fn checkpoint(rest: &str) -> Option<CheckpointName> {
    let mut pieces = rest.split('.');
    let name = match (pieces.next()?, pieces.next(), pieces.next(), pieces.next()) {
        ("parquet", None, ..) => CheckpointName::Classic,
        (unique, Some("parquet"), None, _) if !unique.is_empty() => {
            CheckpointName::Uuid { json: false }
        }
        (unique, Some("json"), None, _) if !unique.is_empty() => {
            CheckpointName::Uuid { json: true }
        }
        (part, Some(parts), Some("parquet"), None) => {
            let (part, parts) = (number(part)?, number(parts)?);
            if part == 0 || part > parts {
                return None;
            }
            CheckpointName::Part { parts, part }
        }
        _ => return None,
    };
    Some(name)
}

fn version_of(digits: &str) -> Option<u64> {
    if digits.len() != 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // versions are signed 64-bit numbers in delta-spark
    digits.parse::<i64>().ok()?.try_into().ok()
}

fn number(digits: &str) -> Option<u32> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Parses the version and kind of a listed path; a staged commit is only listed if the table's catalog has
/// ratified it.
pub fn parse_path(path: &str) -> Option<(u64, LogFileKind)> {
    match staged_version(path) {
        Some(version) => Some((version, LogFileKind::Commit)),
        None => parse(base_name(path)),
    }
}

/// Returns the version in the path of a staged commit, `_delta_log/_staged_commits/<v>.<unique>.json`.
pub fn staged_version(path: &str) -> Option<u64> {
    let name = path.strip_prefix(STAGED_DIRECTORY)?.strip_prefix('/')?;
    let (version, rest) = name.split_once('.')?;
    let unique = rest.strip_suffix(".json")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (!unique.is_empty() && unique.bytes().all(plain)).then(|| version_of(version))?
}

/// Returns the path of a staged commit, relative to the table root.
pub fn staged_path(version: u64, unique: &str) -> String {
    format!("{STAGED_DIRECTORY}/{version:020}.{unique}.json")
}

/// Returns the name of the file of a commit.
pub fn commit_name(version: u64) -> String {
    format!("{version:020}.json")
}

/// Returns the path of a commit, relative to the table root.
pub fn commit_path(version: u64) -> String {
    format!("{LOG_DIRECTORY}/{}", commit_name(version))
}

/// Returns the last segment of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
