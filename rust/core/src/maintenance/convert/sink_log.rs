//! The log of a directory that a stream of Spark writes to: `_spark_metadata` names the files of the batches
//! that were committed. Other files are those of failed tasks and of repeated batches.

use std::collections::HashSet;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::storage::Storage;

const DIRECTORY: &str = "_spark_metadata";

/// The maximum size of a file of the log.
const MAX_BYTES: u64 = 512 << 20;

/// A line of the log, after the first, which is its format.
#[derive(Deserialize)]
struct Entry {
    path: String,
    action: String,
}

/// Returns the names of the committed files, without directories; `None` if there is no log.
///
/// Each file has another name, and the log has the URIs of the place where it was written.
///
/// # Errors
///
/// Invalid argument: `convert.path` for a log of an unknown format.
pub(super) fn committed_names(storage: &dyn Storage) -> Result<Option<HashSet<String>>> {
    let mut batches = Vec::new();
    for file in storage.list(DIRECTORY, "")? {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let (number, is_compact) = match name.strip_suffix(".compact") {
            Some(number) => (number, true),
            None => (name, false),
        };
        if let Ok(number) = number.parse::<u64>() {
            batches.push((number, is_compact, file.path));
        }
    }
    if batches.is_empty() {
        return Ok(None);
    }
    batches.sort_unstable();
    // a compacted file has the entries of all batches before it, too
    let start = batches.iter().rposition(|(_, is_compact, _)| *is_compact);
    let mut names = HashSet::new();
    for (_, _, path) in batches.iter().skip(start.unwrap_or(0)) {
        let bytes = storage.read_at_most(path, MAX_BYTES)?;
        apply(&bytes, &mut names).map_err(|error| error.at_path(path))?;
    }
    Ok(Some(names))
}

/// Adds the names of a file of the log to those of earlier ones.
fn apply(bytes: &[u8], names: &mut HashSet<String>) -> Result<()> {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    if lines
        .next()
        .is_none_or(|format| format.trim_ascii() != b"v1")
    {
        return Err(unknown_format("the first line is not v1"));
    }
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        let entry: Entry = serde_json::from_slice(line)
            .map_err(|error| unknown_format(&format!("a line is no entry: {error}")))?;
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        match entry.action.as_str() {
            "add" => names.insert(name.to_owned()),
            "delete" => names.remove(name),
            _ => return Err(unknown_format("an entry neither adds nor deletes")),
        };
    }
    Ok(())
}

fn unknown_format(reason: &str) -> Error {
    let message = format!(
        "this log of a stream should name the files to convert, but {reason}; to convert all files, move \
         {DIRECTORY} elsewhere"
    );
    Error::invalid("convert.path", message)
}
