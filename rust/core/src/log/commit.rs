//! Reads files of action lines from storage into a decoder, large ones piece by piece.
//!
//! A commit may have any size: of a large one, memory holds a piece and a line that began in earlier pieces.

use bytes::Bytes;

use crate::codec::commit::{ActionDecoder, ActionSelection};
use crate::error::{Error, Result};
use crate::storage::{FileMeta, Storage, check_complete};

/// The maximum size of files that are read as a whole.
pub const MAX_WHOLE_FILE_BYTES: u64 = 64 << 20;

/// The size of the pieces of larger files.
const PIECE_BYTES: u64 = 16 << 20;

/// The maximum length of a line: the longest lines of real logs are tens of megabytes long.
const MAX_LINE_BYTES: usize = 128 << 20;

/// Decodes files of one table, in their order; small ones are read in parallel.
///
/// # Errors
///
/// Corrupt, with path and version: `commit.line_too_long`, `storage.truncated`, the errors of the decoder.
pub fn decode_files(
    storage: &dyn Storage,
    files: &[(&FileMeta, u64)],
    decoder: &mut ActionDecoder,
) -> Result<()> {
    let small: Vec<&str> = files
        .iter()
        .filter(|(file, _)| file.size <= MAX_WHOLE_FILE_BYTES)
        .map(|(file, _)| file.path.as_str())
        .collect();
    let mut read = storage.read_many(&small).into_iter();
    for (file, version) in files {
        let located = |error: Error| error.at_path(file.path.clone()).at_version(*version);
        if file.size > MAX_WHOLE_FILE_BYTES {
            decode_in_pieces(storage, file, decoder).map_err(located)?;
            continue;
        }
        let bytes = read
            .next()
            .unwrap_or_else(|| Ok(Bytes::new()))
            .and_then(|bytes| {
                check_complete(&file.path, bytes.len(), file.size)?;
                Ok(bytes)
            })
            .map_err(located)?;
        decoder.decode(&bytes).map_err(located)?;
    }
    Ok(())
}

/// Decodes one file.
pub fn decode_file(
    storage: &dyn Storage,
    file: &FileMeta,
    version: u64,
    decoder: &mut ActionDecoder,
) -> Result<()> {
    decode_files(storage, &[(file, version)], decoder)
}

/// Returns the text of the first `commitInfo` of a commit, if there is one.
pub fn read_commit_info(
    storage: &dyn Storage,
    file: &FileMeta,
    version: u64,
) -> Result<Option<String>> {
    let mut decoder = ActionDecoder::new(ActionSelection {
        commit_infos: true,
        ..ActionSelection::default()
    });
    decode_file(storage, file, version, &mut decoder)?;
    Ok(decoder.finish()?.commit_info().map(str::to_owned))
}

fn decode_in_pieces(
    storage: &dyn Storage,
    file: &FileMeta,
    decoder: &mut ActionDecoder,
) -> Result<()> {
    decoder.begin_file();
    let mut pending: Vec<u8> = Vec::new();
    // where the pending bytes begin: their offset in the file, and the number of lines before it
    let (mut start, mut line) = (0_u64, 0_u64);
    let mut at = 0;
    while at < file.size {
        let end = file.size.min(at.saturating_add(PIECE_BYTES));
        let old_length = pending.len();
        for bytes in storage.read_ranges(&file.path, std::slice::from_ref(&(at..end)))? {
            pending.extend_from_slice(&bytes);
        }
        at = end;
        let complete = if at == file.size {
            pending.len()
        } else {
            // the bytes before this piece have no newline
            let new = pending.get(old_length..).unwrap_or_default();
            memchr::memrchr(b'\n', new).map_or(0, |position| old_length + position + 1)
        };
        if pending.len() - complete > MAX_LINE_BYTES {
            let message = format!(
                "a line is longer than {MAX_LINE_BYTES} bytes, longer than any valid action: \
                 ask the writer of the file"
            );
            return Err(Error::corrupt("commit.line_too_long", message)
                .at_line(line + 1)
                .at_offset(start));
        }
        let lines = pending.get(..complete).unwrap_or_default();
        decoder
            .decode_piece(lines)
            .map_err(|error| error.shift(line, start))?;
        line += memchr::memchr_iter(b'\n', lines).count() as u64;
        start += complete as u64;
        pending.drain(..complete);
    }
    Ok(())
}
